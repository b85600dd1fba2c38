// Element `i` of the row of `n` elements at `o`, out of its chunk.
fn {X}_element(o: u32, i: u32, n: u32) -> f32 {
    let r = i % (2u * {X}_GAP);
    let c = (i / (2u * {X}_GAP)) * ({X}_GAP / 4u) + (r % {X}_GAP) / 4u;
    let w = {X}_chunk(o, c, n);
    return select(w.lo[i % 4u], w.hi[i % 4u], r >= {X}_GAP);
}
