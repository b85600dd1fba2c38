//! Every operation of the core can be laid down through the C interface.

use core::mem::MaybeUninit;
use dinrail::op::{Kind, Unary};
use dinrail_capi::*;
use std::collections::HashSet;

const N: usize = 96;

fn text(s: dinrail_str) -> String {
    // SAFETY: names of operations are static.
    let bytes = unsafe { std::slice::from_raw_parts(s.data.cast::<u8>(), s.size) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A finished graph with every operation in it; the names of its nodes' operations.
fn names() -> Vec<String> {
    // SAFETY: all of it is integers, for which zeros are fine.
    let mut g: dinrail_graph = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut nodes: Vec<MaybeUninit<dinrail_node>> = Vec::with_capacity(N);
    let mut error = MaybeUninit::uninit();
    // SAFETY: `nodes` has room for `N` and outlives the graph.
    let status = unsafe {
        dinrail_graph_begin(Some(&mut g), nodes.as_mut_ptr().cast(), N, Some(&mut error))
    };
    assert_eq!(status, DINRAIL_OK);
    let none = DINRAIL_NONE;
    macro_rules! lay {
        ($f:ident $(, $x:expr)*) => {{
            let before = dinrail_graph_len(Some(&g));
            let id = $f(Some(&mut g), $($x),*);
            assert!(id as usize == before, "{} laid nothing down", stringify!($f));
            id
        }};
    }
    let x = lay!(dinrail_graph_input, DINRAIL_F32, 32, 4, 2, 1);
    let y = lay!(dinrail_graph_input, DINRAIL_F32, 32, 4, 2, 1);
    let one = lay!(dinrail_graph_input, DINRAIL_F32, 1, 1, 1, 1);
    let rows = lay!(dinrail_graph_input, DINRAIL_I32, 2, 2, 1, 1);
    let at = lay!(dinrail_graph_input, DINRAIL_I32, 2, 1, 1, 1);
    let cache = lay!(dinrail_graph_leaf, DINRAIL_F16, 32, 8, 2, 1, 1, 0);
    let small = lay!(dinrail_graph_input, DINRAIL_F32, 32, 2, 2, 1);
    let mask = lay!(dinrail_graph_input, DINRAIL_F16, 8, 64, 1, 1);
    let flat = lay!(dinrail_graph_weight, DINRAIL_F32, 32, 1, 1, 1, 2, 0);
    lay!(dinrail_op_add, x, y);
    lay!(dinrail_op_sub, x, y);
    lay!(dinrail_op_mul, x, flat);
    lay!(dinrail_op_div, x, y);
    lay!(dinrail_op_add1, x, one);
    lay!(dinrail_op_scale, x, 2.0, 1.0);
    lay!(dinrail_op_clamp, x, -1.0, 1.0);
    lay!(dinrail_op_sqr, x);
    lay!(dinrail_op_sqrt, x);
    lay!(dinrail_op_log, x);
    lay!(dinrail_op_sin, x);
    lay!(dinrail_op_cos, x);
    lay!(dinrail_op_relu, x);
    lay!(dinrail_op_silu, x);
    lay!(dinrail_op_gelu, x);
    for f in DINRAIL_UNARY_ABS..=DINRAIL_UNARY_TRUNC {
        lay!(dinrail_op_unary, x, f);
    }
    lay!(dinrail_op_xielu, x, 0.8, 0.8, 0.5, -1e-6);
    for f in DINRAIL_GLU_REGLU..=DINRAIL_GLU_GEGLU_QUICK {
        lay!(dinrail_op_glu, x, y, f, false);
    }
    lay!(dinrail_op_glu, x, none, DINRAIL_GLU_SWIGLU, true);
    lay!(dinrail_op_swiglu_oai, x, y, 1.702, 7.0, false);
    lay!(dinrail_op_sum, x);
    lay!(dinrail_op_sum_rows, x);
    lay!(dinrail_op_mean, x);
    let matrix = lay!(dinrail_op_reshape, x, 32, 8, 1, 1);
    lay!(dinrail_op_argmax, matrix);
    lay!(dinrail_op_argsort, x, true);
    lay!(dinrail_op_norm, x, 1e-5);
    lay!(dinrail_op_rms_norm, x, 1e-5);
    lay!(dinrail_op_group_norm, x, 2, 1e-5);
    lay!(dinrail_op_l2_norm, x, 1e-5);
    lay!(dinrail_op_mul_mat, x, y, true);
    lay!(dinrail_op_get_rows, x, rows);
    lay!(dinrail_op_set_rows, small, at, cache);
    lay!(dinrail_op_cpy, x, y);
    lay!(dinrail_op_cont, x);
    lay!(dinrail_op_dup, x);
    lay!(dinrail_op_view, x, 16, 4, 1, 1, 128, 512, 512, 64);
    lay!(dinrail_op_permute, x, 0, 2, 1, 3);
    lay!(dinrail_op_transpose, x);
    lay!(dinrail_op_repeat, flat, 32, 4, 1, 1);
    lay!(dinrail_op_concat, x, y, 1);
    lay!(dinrail_op_acc, x, flat, 128, 512, 1024, 0);
    lay!(dinrail_op_set, x, flat, 128, 512, 1024, 128);
    lay!(dinrail_op_diag_mask_inf, x, 0);
    lay!(dinrail_op_soft_max, x, none, none, 1.0, 0.0);
    let rope = dinrail_rope {
        dims: 32,
        mode: DINRAIL_ROPE_NEOX,
        trained_context: 0,
        base: 10000.0,
        scale: 1.0,
        ext_factor: 0.0,
        attn_factor: 1.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
    };
    lay!(dinrail_op_rope, x, at, none, Some(&rope));
    lay!(dinrail_op_flash_attn, x, cache, cache, mask, none, 1.0, 0.0, 0.0, true);
    lay!(dinrail_op_arange, 0.0, 4.0, 1.0);
    assert_eq!(dinrail_graph_finish(Some(&mut g), None), DINRAIL_OK);
    (0..dinrail_graph_len(Some(&g))).map(|i| text(dinrail_graph_op(Some(&g), i as u32))).collect()
}

#[test]
fn all_operations_can_be_had() {
    let names: HashSet<String> = names().into_iter().collect();
    for kind in Kind::ALL {
        match kind {
            // Told apart by their function.
            Kind::Unary => assert!(names.contains(Unary::Silu.name())),
            Kind::Glu => assert!(names.contains("SWIGLU")),
            kind => assert!(names.contains(kind.name()), "{} has no function in C", kind.name()),
        }
    }
    for function in [
        "ABS",
        "SGN",
        "NEG",
        "STEP",
        "TANH",
        "ELU",
        "RELU",
        "SIGMOID",
        "GELU",
        "GELU_QUICK",
        "SILU",
        "HARDSWISH",
        "HARDSIGMOID",
        "EXP",
        "EXPM1",
        "SOFTPLUS",
        "GELU_ERF",
        "XIELU",
        "FLOOR",
        "CEIL",
        "ROUND",
        "TRUNC",
        "REGLU",
        "GEGLU",
        "SWIGLU",
        "SWIGLU_OAI",
        "GEGLU_ERF",
        "GEGLU_QUICK",
    ] {
        assert!(names.contains(function), "{function}");
    }
}
