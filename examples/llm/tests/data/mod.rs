//! A small real model, and the ids that another implementation (llama.cpp 0.5.0-dev) makes of some
//! prompts with its vocabulary.

use dinrail_gguf::{File, Header};

const STORIES: &[u8] = include_bytes!("../../../models/stories260K-Q8_0.gguf");

pub fn stories() -> Header<'static> {
    *File::parse(STORIES).unwrap().header()
}

/// Prompts and their ids, begin included.
pub const STORIES_PROMPTS: &[(&str, &[u32])] = &[
    ("Once upon a time", &[1, 403, 407, 261, 378]),
    ("Lily and Tom went to the", &[1, 317, 269, 274, 287, 263, 377, 267, 265]),
    ("", &[1]),
    (
        "The cat said: \"Hello!\"\nThen it",
        &[1, 291, 280, 294, 336, 467, 313, 440, 411, 306, 414, 443, 436, 13, 434, 260, 416, 312],
    ),
];
