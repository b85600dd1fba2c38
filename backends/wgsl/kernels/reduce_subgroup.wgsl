// Reductions over the workgroup: inside a subgroup by its own instructions, between subgroups through shared
// memory. Every invocation must call them.
var<workgroup> partial: array<vec4<f32>, {WG}>;

fn sum4(x: vec4<f32>, li: u32) -> vec4<f32> {
    let s = subgroupAdd(x);
    workgroupBarrier();
    if (lane == 0u) { partial[subgroup] = s; }
    workgroupBarrier();
    var r = partial[0];
    for (var k = 1u; k < subgroups; k += 1u) { r += partial[k]; }
    return r;
}

fn max4(x: vec4<f32>, li: u32) -> vec4<f32> {
    let s = subgroupMax(x);
    workgroupBarrier();
    if (lane == 0u) { partial[subgroup] = s; }
    workgroupBarrier();
    var r = partial[0];
    for (var k = 1u; k < subgroups; k += 1u) { r = max(r, partial[k]); }
    return r;
}

fn sum(x: f32, li: u32) -> f32 {
    let s = subgroupAdd(x);
    workgroupBarrier();
    if (lane == 0u) { partial[subgroup].x = s; }
    workgroupBarrier();
    var r = partial[0].x;
    for (var k = 1u; k < subgroups; k += 1u) { r += partial[k].x; }
    return r;
}

fn largest(x: f32, li: u32) -> f32 {
    let s = subgroupMax(x);
    workgroupBarrier();
    if (lane == 0u) { partial[subgroup].x = s; }
    workgroupBarrier();
    var r = partial[0].x;
    for (var k = 1u; k < subgroups; k += 1u) { r = max(r, partial[k].x); }
    return r;
}
