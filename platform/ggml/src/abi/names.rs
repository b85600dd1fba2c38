//! Names of operations and functions in the order of their numbers in ggml 0.25, for plug-ins that say that they use it.

/// The release whose numbers and layouts these are.
pub const RELEASE: u32 = 25;

/// The entrance of a plug-in that was made with dinrail, for hosts that know [`RELEASE_FUNCTION`]. Its type is that of
/// ggml's entry point, which such a plug-in has as well, for hosts that bring ggml's base library: what it gives to the
/// two differs in where its numbers come from.
pub const INIT: &str = "dinrail_backend_init";

/// A function that a plug-in without ggml's base library offers by name: it takes nothing and gives the release whose
/// numbers and layouts the plug-in uses. A host that finds [`RELEASE`] there needs no base library: it makes tensors
/// itself, makes graphs of which the plug-in may read what [`Graph`](super::Graph) has, and gives a buffer back by
/// `free_buffer` and then C's `free` on the structure.
pub const RELEASE_FUNCTION: &core::ffi::CStr = c"dinrail_ggml_release";

/// Operations.
#[rustfmt::skip]
pub static OPS: [&core::ffi::CStr; 101] = [
    c"NONE", c"DUP", c"ADD", c"ADD_ID", c"ADD1", c"ACC", c"SUB", c"MUL", c"DIV", c"SQR", c"SQRT", c"LOG",
    c"SIN", c"COS", c"SUM", c"SUM_ROWS", c"CUMSUM", c"MEAN", c"ARGMAX", c"COUNT_EQUAL", c"REPEAT",
    c"REPEAT_BACK", c"CONCAT", c"SILU_BACK", c"NORM", c"RMS_NORM", c"RMS_NORM_BACK", c"GROUP_NORM", c"L2_NORM",
    c"MUL_MAT", c"MUL_MAT_ID", c"OUT_PROD", c"SCALE", c"SET", c"CPY", c"CONT", c"RESHAPE", c"VIEW", c"PERMUTE",
    c"TRANSPOSE", c"GET_ROWS", c"GET_ROWS_BACK", c"SET_ROWS", c"DIAG", c"DIAG_MASK_INF", c"DIAG_MASK_ZERO",
    c"SOFT_MAX", c"SOFT_MAX_BACK", c"ROPE", c"ROPE_BACK", c"CLAMP", c"CONV_TRANSPOSE_1D", c"IM2COL",
    c"IM2COL_BACK", c"IM2COL_3D", c"COL2IM_1D", c"CONV_2D", c"CONV_3D", c"CONV_2D_DW", c"CONV_TRANSPOSE_2D",
    c"POOL_1D", c"POOL_2D", c"POOL_2D_BACK", c"UPSCALE", c"PAD", c"PAD_REFLECT_1D", c"ROLL", c"ARANGE",
    c"TIMESTEP_EMBEDDING", c"ARGSORT", c"TOP_K", c"LEAKY_RELU", c"TRI", c"FILL", c"FLASH_ATTN_EXT",
    c"FLASH_ATTN_BACK", c"SSM_CONV", c"SSM_SCAN", c"WIN_PART", c"WIN_UNPART", c"GET_REL_POS", c"ADD_REL_POS",
    c"RWKV_WKV6", c"GATED_LINEAR_ATTN", c"RWKV_WKV7", c"SOLVE_TRI", c"GATED_DELTA_NET", c"LIGHTNING_INDEXER",
    c"DSV4_HC_COMB", c"DSV4_HC_PRE", c"DSV4_HC_POST", c"UNARY", c"MAP_CUSTOM1", c"MAP_CUSTOM2", c"MAP_CUSTOM3",
    c"CUSTOM", c"CROSS_ENTROPY_LOSS", c"CROSS_ENTROPY_LOSS_BACK", c"OPT_STEP_ADAMW", c"OPT_STEP_SGD", c"GLU",
];

/// Functions of one element.
#[rustfmt::skip]
pub static UNARY: [&core::ffi::CStr; 22] = [
    c"ABS", c"SGN", c"NEG", c"STEP", c"TANH", c"ELU", c"RELU", c"SIGMOID", c"GELU", c"GELU_QUICK", c"SILU",
    c"HARDSWISH", c"HARDSIGMOID", c"EXP", c"EXPM1", c"SOFTPLUS", c"GELU_ERF", c"XIELU", c"FLOOR", c"CEIL",
    c"ROUND", c"TRUNC",
];

/// Gated units.
#[rustfmt::skip]
pub static GLU: [&core::ffi::CStr; 7] = [
    c"REGLU", c"GEGLU", c"SWIGLU", c"SWIGLU_OAI", c"GEGLU_ERF", c"GEGLU_QUICK", c"SWIGLU_CLAMP",
];
