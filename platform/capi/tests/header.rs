//! `include/dinrail.h` is what cbindgen makes of this crate's source.
//!
//! With `DINRAIL_BLESS=1` the header is written; without, it is compared.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The chapters, in the header's order. The flag says whether a library without `std` lacks the chapter.
const CHAPTERS: &[(&str, bool)] = &[
    ("text", false),
    ("version", false),
    ("error", false),
    ("device", false),
    ("buffer", false),
    ("graph", false),
    ("params", false),
    ("ops", false),
    ("plan", false),
    ("program", false),
    ("stream", false),
    ("transfer", false),
    ("gguf", false),
    ("driver", false),
    ("plugin", false),
    ("log", false),
    ("file", true),
];

const HEAD: &str = r#"/*
 * dinrail for C and C++. Made by cbindgen from the sources of platform/capi: don't edit.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The path through it: pick a device; open a stream; build a graph and plan it, which tells how much memory it takes; make
 * buffers for arena and weights; join all to a program; compute. `examples/embed-c` has whole programs.
 *
 * The library allocates nothing for the objects below: they are structures in memory of the caller's. Fill one with zeros before
 * its first use. Only streams, events, prepared programs, buffers and mapped files are to be closed, in the reverse order
 * of their opening.
 *
 * "Threads: the stream's" and the like mean: one thread at a time for each object, whichever thread that is. "any" needs no
 * such care. A function whose comment doesn't name interrupts isn't called from them.
 */
#ifndef DINRAIL_H
#define DINRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the functions' names begin with in the library. A library that was built with the environment variable
 * DINRAIL_C_PREFIX set is used with the same text defined here: so one program can hold two of them. */
#ifndef DINRAIL_C_PREFIX
#define DINRAIL_C_PREFIX dinrail0_
#endif

"#;

const MACROS: &str = r#"
/* For printf's "%.*s". */
#define DINRAIL_TEXT(s) (int)(s).size, (const char *)((s).data != NULL ? (s).data : "")

/* 64-byte alignment, no scratch, results in place of what nobody needs any more. */
#define DINRAIL_PLAN_OPTIONS_INIT {64, 0, false}

/* Plain rotary embedding. */
#define DINRAIL_ROPE_INIT(dims, mode, base) {(dims), (mode), 0, (base), 1.0f, 0.0f, 1.0f, 32.0f, 1.0f}

#if defined(__cplusplus)
#define DINRAIL_ASSERT_(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define DINRAIL_ASSERT_(condition, text) _Static_assert(condition, text)
#endif
#ifdef DINRAIL_ASSERT_
"#;

/// Objects, with the number of 64-bit words and of words as wide as a pointer that they have.
const SIZES: &[(&str, usize, usize)] = &[
    ("buffer", 0, 8),
    ("graph", 6, 6),
    ("node", 8, 14),
    ("place", 0, 2),
    ("work", 1, 6),
    ("plan", 0, 12),
    ("program", 2, 20),
    ("stream", 0, 8),
    ("event", 0, 6),
    ("run", 0, 8),
    ("prepared", 0, 8),
    ("gguf", 6, 8),
    ("binding", 0, 2),
    ("device", 0, 2),
    ("str", 0, 2),
    ("driver", 0, 32),
];

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What cbindgen can't know: macros stand for the functions' names, and NULL is allowed where results go.
fn plain_rust(source: &str) -> String {
    let end = source.find("\n#[cfg(test)]\nmod tests").unwrap_or(source.len());
    let mut out = String::new();
    for line in source[..end].lines() {
        if line.starts_with("#[unsafe(export_name") {
            out.push_str("#[unsafe(no_mangle)]\n");
            continue;
        }
        let line = line.replace("/// # Safety", "/// To be seen to by the caller:");
        let line = match line.find("Out<") {
            Some(_) if !line.trim_start().starts_with("//") => {
                line.replace("Out<'_, ", "Option<&mut ").replace("Out<", "Option<&mut ")
            }
            _ => line,
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn functions(source: &str) -> Vec<&str> {
    let names = source.match_indices("#[unsafe(export_name = symbol!(\"");
    names
        .map(|(at, start)| {
            let rest = &source[at + start.len()..];
            &rest[..rest.find('"').unwrap()]
        })
        .collect()
}

/// The names of the chapter's types.
fn types(source: &str) -> Vec<String> {
    let names = source.lines().filter_map(|line| {
        let name =
            ["pub struct ", "pub type ", "pub union "].iter().find_map(|w| line.strip_prefix(w))?;
        Some(name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned())
    });
    names.collect()
}

/// The chapter's heading, from its module's documentation.
fn heading(source: &str) -> String {
    let lines = source.lines().map_while(|l| l.strip_prefix("//!"));
    let mut out = "\n/*\n".to_owned();
    for (i, line) in lines.filter(|l| !l.starts_with(" ```")).enumerate() {
        let _ = writeln!(out, " *{line}");
        if i == 0 {
            let _ = writeln!(out, " * {}", "=".repeat(line.trim().len()));
        }
    }
    out + " */\n\n"
}

fn generate(source: &str, scratch: &Path) -> String {
    let file = scratch.join("chapter.rs");
    std::fs::write(&file, plain_rust(source)).unwrap();
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        no_includes: true,
        documentation: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 120,
        tab_width: 4,
        usize_is_size_t: true,
        sort_by: cbindgen::SortKey::None,
        // Also what only the chapters that follow use.
        export: cbindgen::ExportConfig {
            include: types(source),
            ..cbindgen::ExportConfig::default()
        },
        ..cbindgen::Config::default()
    };
    let bindings = cbindgen::Builder::new().with_config(config).with_src(&file).generate().unwrap();
    let mut out = Vec::new();
    bindings.write(&mut out);
    String::from_utf8(out).unwrap()
}

/// The header. `who` calls: tests run at the same time.
fn header(who: &str) -> String {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(who);
    std::fs::create_dir_all(&scratch).unwrap();
    let version: Vec<u32> =
        env!("CARGO_PKG_VERSION").split('.').map(|n| n.parse().unwrap()).collect();
    let mut out = HEAD.to_owned();
    let number = version[0] << 16 | version[1] << 8 | version[2];
    let _ = writeln!(out, "/* The version of this header: compare it with `dinrail_version()`. */");
    let _ = writeln!(out, "#define DINRAIL_VERSION 0x{number:06x}\n");
    out.push_str(
        "#define DINRAIL_JOIN2_(a, b) a##b\n#define DINRAIL_JOIN_(a, b) DINRAIL_JOIN2_(a, b)\n",
    );
    out.push_str("#define DINRAIL_SYMBOL(name) DINRAIL_JOIN_(DINRAIL_C_PREFIX, name)\n\n");
    let sources: Vec<String> = CHAPTERS
        .iter()
        .map(|(name, _)| std::fs::read_to_string(here().join(format!("src/{name}.rs"))).unwrap())
        .collect();
    for source in &sources {
        for name in functions(source) {
            let _ = writeln!(out, "#define dinrail_{name} DINRAIL_SYMBOL({name})");
        }
    }
    out.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (source, (_, std_only)) in sources.iter().zip(CHAPTERS) {
        if *std_only {
            out.push_str("\n#ifndef DINRAIL_NO_STD\n");
        }
        out.push_str(&heading(source));
        // The names of structures are names of types in both languages.
        let text = generate(source, &scratch).replace("struct dinrail_", "dinrail_");
        out.push_str(text.replace("typedef dinrail_", "typedef struct dinrail_").trim());
        out.push('\n');
        if *std_only {
            out.push_str("\n#endif\n");
        }
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n");
    out.push_str(MACROS);
    for (name, wide, words) in SIZES {
        let _ = writeln!(
            out,
            "DINRAIL_ASSERT_(sizeof(dinrail_{name}) == {wide} * sizeof(uint64_t) + {words} * sizeof(uintptr_t), \"dinrail_{name}\");"
        );
    }
    out.push_str("#endif\n\n#endif\n");
    out
}

#[test]
fn header_is_what_the_source_says() {
    let path = here().join("include/dinrail.h");
    let made = header("compare");
    if std::env::var_os("DINRAIL_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = made.lines().zip(there.lines()).position(|(a, b)| a != b);
    assert!(
        made == there,
        "{}: line {} differs from the source; make it anew with DINRAIL_BLESS=1 cargo test -p dinrail-capi --test header",
        path.display(),
        differs.unwrap_or(made.lines().count().min(there.lines().count())) + 1
    );
}

/// Names of functions are macros in C, so no type or constant may have the same.
#[test]
fn no_name_stands_for_two_things() {
    let text = header("names");
    let mut seen = std::collections::HashSet::new();
    for line in text.lines().filter(|l| l.starts_with("#define dinrail_")) {
        assert!(seen.insert(line.split(' ').nth(1).unwrap()), "{line}");
    }
    for line in text.lines().filter(|l| l.starts_with("typedef ") || l.starts_with("} ")) {
        let name = line.trim_end_matches([';', '{', ' ']).rsplit(' ').next().unwrap();
        assert!(!seen.contains(name), "{line}");
    }
    assert!(seen.len() > 100, "{}", seen.len());
}
