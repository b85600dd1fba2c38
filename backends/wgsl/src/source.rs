//! The text of each kernel, put together from the files of `kernels/`.

use crate::table::{Family, Features, Kernel};
use alloc::format;
use alloc::string::String;
use dinrail_core::tensor::DType::{self, *};

/// The entry point's name in every kernel.
pub const ENTRY: &str = "main";

macro_rules! file {
    ($path:literal) => {
        include_str!(concat!("../kernels/", $path, ".wgsl"))
    };
}

macro_rules! bodies {
    ($($family:ident $file:literal)*) => {
        const fn body(family: Family) -> &'static str {
            match family { $(Family::$family => file!($file)),* }
        }
    };
}

bodies! {
    Map "map" Binary "binary" Glu "glu" Cast "cast" Dequantize "dequantize" Copy "copy"
    Repeat "repeat" Concat "concat" Arange "arange" DiagMask "diag_mask" Norm "norm"
    GroupNorm "group_norm" RowSum "row_sum" Argmax "argmax" Argsort "argsort" GetRows "get_rows"
    GetWords "get_words" SetRows "set_rows" SetBlocks "set_blocks" Quantize "quantize"
    SetWindow "set_window" AddWindow "add_window" Rope "rope" SoftMax "soft_max" MulMatVec "mul_mat_vec"
    MulMat "mul_mat" FlashAttn "flash_attn"
}

/// How a kernel reads a source.
#[derive(Clone, Copy)]
enum Access {
    /// Elements and chunks of a type, as numbers.
    Numbers(DType),
    /// Words.
    Words,
    /// Units of a size, bit by bit.
    Units(DType),
}

/// The sources of a family, in order.
fn sources(k: &Kernel) -> &'static [&'static str] {
    match k.family {
        Family::Arange => &[],
        Family::Binary
        | Family::Glu
        | Family::Concat
        | Family::GetRows
        | Family::GetWords
        | Family::SetRows
        | Family::SetBlocks
        | Family::SetWindow
        | Family::AddWindow
        | Family::MulMatVec
        | Family::MulMat => &["a", "b"],
        Family::Rope | Family::SoftMax => &["a", "b", "c"],
        Family::FlashAttn => &["a", "b", "c", "d", "e"],
        _ => &["a"],
    }
}

/// Whether elements are copied bit by bit.
const fn units(family: Family) -> bool {
    matches!(family, Family::Copy | Family::Repeat | Family::Concat | Family::SetWindow)
}

fn access(k: &Kernel, source: &str) -> Access {
    match (k.family, source) {
        _ if units(k.family) => Access::Units(k.a),
        (
            Family::GetRows | Family::GetWords | Family::SetRows | Family::SetBlocks | Family::Rope,
            "b",
        ) => Access::Words,
        (Family::GetWords, _) => Access::Words,
        (Family::FlashAttn, "a") => Access::Numbers(F32),
        (Family::FlashAttn, "b") => Access::Numbers(k.a),
        (Family::FlashAttn, "c") => Access::Numbers(k.b),
        (Family::FlashAttn, "d") => Access::Numbers(F16),
        (_, "a") => Access::Numbers(k.a),
        (_, "b") => Access::Numbers(k.b),
        _ => Access::Numbers(F32),
    }
}

/// The text that reads elements of a type, after that which reads words.
const fn decoder(dtype: DType) -> &'static [&'static str] {
    match dtype {
        F32 => &[file!("types/f32")],
        F16 => &[file!("types/f16"), file!("types/two_bytes")],
        BF16 => &[file!("types/bf16"), file!("types/two_bytes")],
        I32 => &[file!("types/i32")],
        Q4_0 => &[file!("types/q4_0")],
        Q4_1 => &[file!("types/q4_1")],
        Q5_0 => &[file!("types/q5_0")],
        Q5_1 => &[file!("types/q5_1")],
        Q8_0 => &[file!("types/q8_0")],
        Q2_K => &[file!("types/q2_k")],
        Q3_K => &[file!("types/q3_k")],
        Q4_K => &[file!("types/scale_min"), file!("types/q4_k")],
        Q5_K => &[file!("types/scale_min"), file!("types/q5_k")],
        Q6_K => &[file!("types/q6_k")],
        IQ4_NL => &[file!("types/iq4_table"), file!("types/iq4_nl")],
        IQ4_XS => &[file!("types/iq4_table"), file!("types/iq4_xs")],
        MXFP4 => &[file!("types/mxfp4_table"), file!("types/mxfp4")],
        TQ1_0 => &[file!("types/tq1_0")],
        TQ2_0 => &[file!("types/tq2_0")],
        _ => &[],
    }
}

fn source_text(access: Access, native: bool, name: &str, binding: usize) -> String {
    let mut text = String::new();
    match access {
        Access::Numbers(F16) if native => {
            text += file!("types/f16_native");
            text += file!("types/two_bytes");
        }
        Access::Numbers(t) => {
            text += file!("types/words");
            decoder(t).iter().for_each(|part| text += part);
            if t.is_quantized() {
                text += file!("types/element");
            }
        }
        Access::Words => text += file!("types/words"),
        Access::Units(t) => {
            text += file!("types/words");
            text += match t {
                I8 => "fn {X}_unit(o: u32) -> u32 { return {X}_byte(o); }\n",
                I16 => "fn {X}_unit(o: u32) -> u32 { return {X}_half_bits(o); }\n",
                _ => "fn {X}_unit(o: u32) -> u32 { return {X}_data[o >> 2u]; }\n",
            };
        }
    }
    text.replace("{X}", name).replace("{B}", &format!("{binding}"))
}

fn result_text(k: &Kernel, native: bool) -> String {
    let (words, parts) = (file!("types/put_words"), file!("types/put_parts"));
    let encoder = match k.dst {
        Q4_0 => file!("types/put_q4_0"),
        Q4_1 => file!("types/put_q4_1"),
        Q5_0 => file!("types/put_q5_0"),
        Q5_1 => file!("types/put_q5_1"),
        Q8_0 => file!("types/put_q8_0"),
        IQ4_NL => file!("types/put_iq4_nl"),
        MXFP4 => file!("types/put_mxfp4"),
        _ => "",
    };
    if !encoder.is_empty() {
        let values = match k.dst {
            IQ4_NL => file!("types/iq4_table"),
            MXFP4 => file!("types/mxfp4_table"),
            _ => "",
        };
        return [parts, file!("types/block"), &values.replace("{X}", "dst"), encoder].concat();
    }
    let parts: [&str; 2] = match k.dst {
        F16 if native => [file!("types/put_f16_native"), ""],
        F16 => [parts, file!("types/put_f16")],
        BF16 => [parts, file!("types/put_bf16")],
        I8 => [parts, "fn put_unit(o: u32, x: u32) { put_bits(o, 0xffu, x); }\n"],
        I16 => [parts, "fn put_unit(o: u32, x: u32) { put_half_bits(o, x); }\n"],
        _ if units(k.family) => [words, "fn put_unit(o: u32, x: u32) { put_word(o, x); }\n"],
        I32 => [words, file!("types/put_i32")],
        _ => [words, file!("types/put_f32")],
    };
    parts.concat()
}

/// `p`, a launch's own arguments, spelled out.
fn own_arguments(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        let word = before.is_ascii_alphanumeric() || before == '_' || before == '.';
        match c {
            'p' if !word && text[i..].starts_with("p.") => out += "launches[launch]",
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// The kernel's text, with the arguments of `launches` launches side by side.
pub fn text(k: &Kernel, launches: usize) -> String {
    let native = k.needs.has(Features::F16);
    let subgroups = k.needs.has(Features::SUBGROUP);
    let mut out = String::new();
    if native {
        out += "enable f16;\n";
    }
    out += file!("prelude");
    out += &result_text(k, native);
    for (i, name) in sources(k).iter().enumerate() {
        out += &source_text(access(k, name), native, name, i + 2);
    }
    if matches!(k.family, Family::Map | Family::Glu | Family::Rope | Family::FlashAttn) {
        out += file!("functions");
    }
    if matches!(k.family, Family::SoftMax | Family::FlashAttn) {
        out += file!("alibi");
    }
    if matches!(k.family, Family::SetWindow | Family::AddWindow) {
        out += file!("window");
    }
    if matches!(k.family, Family::MulMatVec | Family::MulMat) {
        out += file!("quads");
    }
    if k.family.reduces() {
        out += if subgroups { file!("reduce_subgroup") } else { file!("reduce_shared") };
    }
    out += body(k.family);
    let (inputs, set) = if subgroups {
        (
            ", @builtin(subgroup_invocation_id) l: u32, @builtin(subgroup_id) s: u32, @builtin(num_subgroups) c: u32",
            "lane = l;\n    subgroup = s;\n    subgroups = c;\n    ",
        )
    } else {
        ("", "")
    };
    if subgroups {
        out +=
            "var<private> lane: u32;\nvar<private> subgroup: u32;\nvar<private> subgroups: u32;\n";
    }
    out += &format!(
        "@compute @workgroup_size({{WG}})\nfn {ENTRY}(@builtin(workgroup_id) w: vec3<u32>, \
         @builtin(num_workgroups) n: vec3<u32>, @builtin(local_invocation_index) li: u32{inputs}) {{\n    \
         {set}launch = w.z;\n    let group = w.x + w.y * n.x;\n    if (group >= p.more.w) {{ return; }}\n    run(group, li);\n}}\n"
    );
    let size = k.family.workgroup();
    own_arguments(&out)
        .replace("{WG}", &format!("{size}"))
        .replace("{PER}", &format!("{}", 512 / size))
        .replace("{LAUNCHES}", &format!("{launches}"))
}

/// A name for people and files, such as `mul_mat_vec_f32_q4_K_f32_subgroup`.
pub fn label(k: &Kernel) -> String {
    let mut out = format!("{}_{}_{}_{}", k.family.file(), k.dst, k.a, k.b);
    if k.needs.has(Features::SUBGROUP) {
        out += "_subgroup";
    }
    if k.needs.has(Features::F16) {
        out += "_f16";
    }
    out
}
