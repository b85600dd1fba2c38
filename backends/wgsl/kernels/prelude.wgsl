// A tensor: lengths, innermost first, and strides in bytes.
struct Tensor { ne: vec4<u32>, nb: vec4<u32> }

// The arguments of a launch: the layout of `Args` on the host.
struct Args {
    dst: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor,
    // First bytes of dst, a, b, c in their bindings.
    off: vec4<u32>,
    // First bytes of d and e, stride of e, number of workgroups.
    more: vec4<u32>,
    // Integers and numbers whose meaning is the kernel's.
    n: vec4<u32>,
    f: vec4<f32>, g: vec4<f32>, h: vec4<f32>,
}
// Those of several launches. Which one this is says the third number of every workgroup. Kernels write `p` for it, which
// `source.rs` replaces, for there are no references to uniforms that functions could share.
@group(0) @binding(0) var<uniform> launches: array<Args, {LAUNCHES}>;
var<private> launch: u32;

// Eight decoded elements of a row: four from `first(c, gap)` on, and four that are `gap` elements further.
struct Chunk { lo: vec4<f32>, hi: vec4<f32> }

fn first(c: u32, gap: u32) -> u32 {
    let quads = gap / 4u;
    return (c / quads) * 2u * gap + (c % quads) * 4u;
}

// Position of element number `i` of a tensor of lengths `ne`.
fn split(i: u32, ne: vec4<u32>) -> vec4<u32> {
    let r = i / ne.x;
    let s = r / ne.y;
    return vec4<u32>(i % ne.x, r % ne.y, s % ne.z, s / ne.z);
}

fn at(i: vec4<u32>, nb: vec4<u32>) -> u32 {
    return i.x * nb.x + i.y * nb.y + i.z * nb.z + i.w * nb.w;
}

fn row_at(i1: u32, i2: u32, i3: u32, nb: vec4<u32>) -> u32 {
    return i1 * nb.y + i2 * nb.z + i3 * nb.w;
}

fn bytes4(w: u32) -> vec4<u32> {
    return (vec4<u32>(w) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
}

fn signed4(w: u32) -> vec4<f32> {
    let high = bitcast<vec4<i32>>(vec4<u32>(w) << vec4<u32>(24u, 16u, 8u, 0u));
    return vec4<f32>(high >> vec4<u32>(24u));
}

// The low nibble of each byte; `w >> 4` gives the high ones.
fn nibbles(w: u32) -> vec4<f32> { return vec4<f32>(bytes4(w & 0x0f0f0f0fu)); }

fn bits4(x: u32) -> vec4<u32> { return (vec4<u32>(x) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u); }

fn half_value(bits: u32) -> f32 { return unpack2x16float(bits & 0xffffu).x; }

// Rounds to the nearest half, ties to even, on every driver.
fn half_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let sign = (b >> 16u) & 0x8000u;
    let m = b & 0x7fffffffu;
    if (m > 0x7f800000u) { return sign | 0x7e00u; }
    if (m >= 0x477ff000u) { return sign | 0x7c00u; }
    if (m < 0x33000001u) { return sign; }
    if (m < 0x38800000u) {
        // Below the smallest normal half: shift the significand, with its leading one, into place.
        let e = m >> 23u;
        let s = (m & 0x7fffffu) | 0x800000u;
        let shift = 126u - e;
        let low = s & ((1u << shift) - 1u);
        let middle = 1u << (shift - 1u);
        var r = s >> shift;
        if (low > middle || (low == middle && (r & 1u) == 1u)) { r += 1u; }
        return sign | r;
    }
    let r = m - 0x38000000u;
    return sign | ((r + 0xfffu + ((r >> 13u) & 1u)) >> 13u);
}

fn bfloat_value(bits: u32) -> f32 { return bitcast<f32>(bits << 16u); }

fn bfloat_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    if ((b & 0x7fffffffu) > 0x7f800000u) { return (b >> 16u) | 0x40u; }
    return (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
}

// Not a constant expression, which may not be infinite.
fn minus_infinity() -> f32 {
    var bits = 0xff800000u;
    return bitcast<f32>(bits);
}
