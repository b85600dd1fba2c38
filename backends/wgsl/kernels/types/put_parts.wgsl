@group(0) @binding(1) var<storage, read_write> dst: array<atomic<u32>>;
// Stores some bits of a word whose other bits may belong to other invocations: they touch disjoint bits, so
// clearing and then setting needs no loop.
fn put_bits(o: u32, mask: u32, bits: u32) {
    let s = (o & 3u) * 8u;
    atomicAnd(&dst[o >> 2u], ~(mask << s));
    atomicOr(&dst[o >> 2u], bits << s);
}
fn put_half_bits(o: u32, bits: u32) { put_bits(o, 0xffffu, bits); }
