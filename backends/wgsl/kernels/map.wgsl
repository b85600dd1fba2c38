// A function of one element. n: elements, function; f: its parameters.

fn apply(x: f32) -> f32 {
    switch (p.n.y) {
        case 0u: { return abs(x); }
        case 1u: { return select(select(0.0, -1.0, x < 0.0), 1.0, x > 0.0); }
        case 2u: { return -x; }
        case 3u: { return select(0.0, 1.0, x > 0.0); }
        case 4u: { return tanh_of(x); }
        case 5u: { return select(exp_minus_one(x), x, x > 0.0); }
        case 6u: { return max(x, 0.0); }
        case 7u: { return sigmoid(x); }
        case 8u: { return gelu_tanh(x); }
        case 9u: { return x * sigmoid(1.702 * x); }
        case 10u: { return x * sigmoid(x); }
        case 11u: { return x * clamp((x + 3.0) / 6.0, 0.0, 1.0); }
        case 12u: { return clamp((x + 3.0) / 6.0, 0.0, 1.0); }
        case 13u: { return exp(x); }
        case 14u: { return exp_minus_one(x); }
        case 15u: { return select(log_one_plus(exp(x)), x, x > 20.0); }
        case 16u: { return gelu_erf(x); }
        case 17u: {
            // alpha_n, alpha_p, beta, eps; both factors after softplus.
            if (x > 0.0) { return p.f.y * x * x + p.f.z * x; }
            return (exp_minus_one(min(x, p.f.w)) - x) * p.f.x + p.f.z * x;
        }
        case 18u: { return floor(x); }
        case 19u: { return ceil(x); }
        case 20u: {
            let t = trunc(x);
            return select(t, t + select(1.0, -1.0, x < 0.0), abs(x - t) >= 0.5);
        }
        case 21u: { return trunc(x); }
        case 22u: { return x * x; }
        case 23u: { return sqrt(x); }
        case 24u: { return log_of(x); }
        case 25u: { return sine_cosine(x).x; }
        case 26u: { return sine_cosine(x).y; }
        case 27u: { return x * p.f.x + p.f.y; }
        default: { return clamp(x, p.f.x, p.f.y); }
    }
}

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    put(p.off.x + at(e, p.dst.nb), apply(a_at(p.off.y + at(e, p.a.nb))));
}
