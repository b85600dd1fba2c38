// Reductions over the workgroup by a tree in shared memory. Every invocation must call them.
var<workgroup> partial: array<vec4<f32>, {WG}>;

fn sum4(x: vec4<f32>, li: u32) -> vec4<f32> {
    workgroupBarrier();
    partial[li] = x;
    workgroupBarrier();
    for (var k = {WG}u / 2u; k > 0u; k >>= 1u) {
        if (li < k) { partial[li] += partial[li + k]; }
        workgroupBarrier();
    }
    return partial[0];
}

fn max4(x: vec4<f32>, li: u32) -> vec4<f32> {
    workgroupBarrier();
    partial[li] = x;
    workgroupBarrier();
    for (var k = {WG}u / 2u; k > 0u; k >>= 1u) {
        if (li < k) { partial[li] = max(partial[li], partial[li + k]); }
        workgroupBarrier();
    }
    return partial[0];
}
fn sum(x: f32, li: u32) -> f32 { return sum4(vec4<f32>(x), li).x; }
fn largest(x: f32, li: u32) -> f32 { return max4(vec4<f32>(x), li).x; }
