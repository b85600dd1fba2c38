// A tile of 64 rows of a times 64 columns of b per workgroup; an invocation computes 4 by 4 of it. Both operands go
// through shared memory, a decoded. The order in which k is summed is that of a's chunks, on both sides.
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
    let r = (li % 16u) * 4u;
    let m = (li / 16u) * 4u;
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
        workgroupBarrier();
        tile_a[part * 128u + line] = w.lo;
        tile_a[part * 128u + 64u + line] = w.hi;
        tile_b[part * 128u + line] = x.lo;
        tile_b[part * 128u + 64u + line] = x.hi;
        workgroupBarrier();
        for (var q = 0u; q < 512u; q += 64u) {
            let a0 = tile_a[q + r];
            let a1 = tile_a[q + r + 1u];
            let a2 = tile_a[q + r + 2u];
            let a3 = tile_a[q + r + 3u];
            let b0 = tile_b[q + m];
            let b1 = tile_b[q + m + 1u];
            let b2 = tile_b[q + m + 2u];
            let b3 = tile_b[q + m + 3u];
            s0 += vec4<f32>(dot(a0, b0), dot(a1, b0), dot(a2, b0), dot(a3, b0));
            s1 += vec4<f32>(dot(a0, b1), dot(a1, b1), dot(a2, b1), dot(a3, b1));
            s2 += vec4<f32>(dot(a0, b2), dot(a1, b2), dot(a2, b2), dot(a3, b2));
            s3 += vec4<f32>(dot(a0, b3), dot(a1, b3), dot(a2, b3), dot(a3, b3));
        }
    }
    store(s0, tile_row + r, tile_column + m, i2, i3);
    store(s1, tile_row + r, tile_column + m + 1u, i2, i3);
    store(s2, tile_row + r, tile_column + m + 2u, i2, i3);
    store(s3, tile_row + r, tile_column + m + 3u, i2, i3);
}

fn store(s: vec4<f32>, row: u32, column: u32, i2: u32, i3: u32) {
    if (column >= p.dst.ne.y) { return; }
    let to = p.off.x + row_at(column, i2, i3, p.dst.nb);
    for (var j = 0u; j < 4u && row + j < p.dst.ne.x; j += 1u) { put(to + (row + j) * p.dst.nb.x, s[j]); }
}
