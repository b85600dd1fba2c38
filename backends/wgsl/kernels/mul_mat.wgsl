// A tile of 64 rows of a times 64 columns of b per workgroup; an invocation computes 4 by 4 of it. Both operands go
// through shared memory, a decoded. The order in which k is summed is that of a's chunks, on both sides.
// Shared memory has banks, which neighbours should not share: an invocation's rows and columns are 16 apart, so that
// neighbours read, and store, what is side by side; and each part of a tile has its lines in another order (a bit-wise
// exclusive or with an even number below 8), so that neighbours that load parts of one line write to different banks.
// n: chunks of a row, tiles of rows, tiles of columns.
var<workgroup> tile_a: array<vec4<f32>, 512>;
var<workgroup> tile_b: array<vec4<f32>, 512>;

fn run(group: u32, li: u32) {
    let tile_row = (group % p.n.y) * 64u;
    let rest = group / p.n.y;
    let tile_column = (rest % p.n.z) * 64u;
    let outer = rest / p.n.z;
    let i2 = outer % p.dst.ne.z;
    let i3 = outer / p.dst.ne.z;
    let a2 = i2 / (p.dst.ne.z / p.a.ne.z);
    let a3 = i3 / (p.dst.ne.w / p.a.ne.w);
    let k = p.a.ne.x;
    let rows = p.dst.ne.x;
    let columns = p.dst.ne.y;

    // What this invocation loads: one chunk of a row and one of a column.
    let line = li / 4u;
    let part = li % 4u;
    let a_valid = tile_row + line < rows;
    let b_valid = tile_column + line < columns;
    let start = p.off.y + row_at(tile_row + line, a2, a3, p.a.nb);
    let column = p.off.z + row_at(tile_column + line, i2, i3, p.b.nb);
    // What it computes.
    let r = li % 16u;
    let m = li / 16u;
    var s0 = vec4<f32>(0.0);
    var s1 = vec4<f32>(0.0);
    var s2 = vec4<f32>(0.0);
    var s3 = vec4<f32>(0.0);
    for (var c0 = 0u; c0 < p.n.x; c0 += 4u) {
        let c = c0 + part;
        var w = Chunk(vec4<f32>(0.0), vec4<f32>(0.0));
        var x = Chunk(vec4<f32>(0.0), vec4<f32>(0.0));
        if (c < p.n.x) {
            if (a_valid) { w = a_chunk(start, c, k); }
            if (b_valid) { x = b_quads(column, first(c, a_GAP), a_GAP, k); }
        }
        let to = part * 128u + (line ^ (part * 2u));
        workgroupBarrier();
        tile_a[to] = w.lo;
        tile_a[to + 64u] = w.hi;
        tile_b[to] = x.lo;
        tile_b[to + 64u] = x.hi;
        workgroupBarrier();
        for (var q = 0u; q < 512u; q += 64u) {
            let order = q / 128u * 2u;
            let i = q + (r ^ order);
            let j = q + (m ^ order);
            let a0 = tile_a[i];
            let a1 = tile_a[i + 16u];
            let a2 = tile_a[i + 32u];
            let a3 = tile_a[i + 48u];
            let b0 = tile_b[j];
            let b1 = tile_b[j + 16u];
            let b2 = tile_b[j + 32u];
            let b3 = tile_b[j + 48u];
            s0 += vec4<f32>(dot(a0, b0), dot(a1, b0), dot(a2, b0), dot(a3, b0));
            s1 += vec4<f32>(dot(a0, b1), dot(a1, b1), dot(a2, b1), dot(a3, b1));
            s2 += vec4<f32>(dot(a0, b2), dot(a1, b2), dot(a2, b2), dot(a3, b2));
            s3 += vec4<f32>(dot(a0, b3), dot(a1, b3), dot(a2, b3), dot(a3, b3));
        }
    }
    store(s0, tile_row + r, tile_column + m, i2, i3);
    store(s1, tile_row + r, tile_column + m + 16u, i2, i3);
    store(s2, tile_row + r, tile_column + m + 32u, i2, i3);
    store(s3, tile_row + r, tile_column + m + 48u, i2, i3);
}

fn store(s: vec4<f32>, row: u32, column: u32, i2: u32, i3: u32) {
    if (column >= p.dst.ne.y) { return; }
    let to = p.off.x + row_at(column, i2, i3, p.dst.nb);
    for (var j = 0u; j < 4u; j += 1u) {
        let i = row + 16u * j;
        if (i < p.dst.ne.x) { put(to + i * p.dst.nb.x, s[j]); }
    }
}
