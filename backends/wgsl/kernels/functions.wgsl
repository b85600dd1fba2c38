// Functions of one number that drivers compute inexactly, or that overflow on the way.

fn sigmoid(x: f32) -> f32 {
    // The exponential of a negative number only, so that nothing overflows.
    let e = exp(-abs(x));
    let s = 1.0 / (1.0 + e);
    return select(e * s, s, x >= 0.0);
}

fn exp_minus_one(x: f32) -> f32 {
    if (abs(x) < 0.25) {
        return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.0083333333
            + x * (0.0013888889 + x * 0.0001984127))))));
    }
    return exp(x) - 1.0;
}

fn log_one_plus(x: f32) -> f32 {
    if (abs(x) < 0.0625) {
        return x * (1.0 + x * (-0.5 + x * (0.33333334 + x * (-0.25 + x * (0.2 + x * -0.16666667)))));
    }
    return log(1.0 + x);
}

fn tanh_of(x: f32) -> f32 {
    let a = abs(x);
    var r = 1.0;
    if (a < 10.0) {
        let e = exp_minus_one(2.0 * a);
        r = e / (e + 2.0);
    }
    return select(r, -r, x < 0.0);
}

fn gelu_tanh(x: f32) -> f32 {
    let t = 0.7978845608028654 * x * (1.0 + 0.044715 * x * x);
    // 0.5 (1 + tanh t) is the sigmoid of 2 t, without cancellation for large negative t.
    return x * sigmoid(2.0 * t);
}

// The complementary error function of x >= 0 by a rational exponential (W. J. Cody's form, Numerical Recipes'
// Chebyshev coefficients); relative error 1.2e-7.
fn erfc_positive(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let y = -x * x - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806
        + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
    return t * exp(y);
}

fn gelu_erf(x: f32) -> f32 {
    let z = abs(x) * 0.70710678;
    // Near zero the error function's series, which does not cancel.
    if (z < 0.5) {
        let w = z * z;
        let e = z * 1.1283791671 * (1.0 - w * (0.33333333 - w * (0.1 - w * (0.023809524 - w * (0.0046296296
            - w * 0.00075757576)))));
        return 0.5 * x * (1.0 + select(e, -e, x < 0.0));
    }
    let c = erfc_positive(z);
    return 0.5 * x * select(2.0 - c, c, x < 0.0);
}

fn sine_quarter(r: f32) -> f32 {
    let w = r * r;
    return r * (1.0 + w * (-0.16666667 + w * (0.0083333310 + w * (-0.00019840874 + w * 0.0000027525562))));
}

fn cosine_quarter(r: f32) -> f32 {
    let w = r * r;
    return 1.0 + w * (-0.5 + w * (0.041666668 + w * (-0.0013888397 + w * 0.000024760495)));
}

// Sine and cosine. The argument is reduced by a quarter turn split in three parts, exact for thousands of turns.
fn sine_cosine(x: f32) -> vec2<f32> {
    let q = floor(x * 0.63661977 + 0.5);
    let r = ((x - q * 1.5703125) - q * 0.00048375129) - q * 0.000000075497894;
    let s = sine_quarter(r);
    let c = cosine_quarter(r);
    switch (i32(q) & 3) {
        case 0: { return vec2<f32>(s, c); }
        case 1: { return vec2<f32>(c, -s); }
        case 2: { return vec2<f32>(-s, -c); }
        default: { return vec2<f32>(-c, s); }
    }
}

// What drivers give for zero and below differs.
fn log_of(x: f32) -> f32 {
    var nan = 0x7fc00000u;
    return select(select(log(x), minus_infinity(), x == 0.0), bitcast<f32>(nan), x < 0.0);
}
