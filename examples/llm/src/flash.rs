//! Models in flash: [`static_model!`](crate::static_model) makes graph, plan, kernel table and vocabulary of a model file
//! while the firmware is compiled; [`Teller`] computes tokens with them, [`Story`] text.
//!
//! Nothing here has a heap, panics or formats text.

mod made;
mod story;
mod teller;
mod vocabulary;

pub use made::Ports;
pub use story::Story;
pub use teller::Teller;
pub use vocabulary::{Arrays, Vocabulary};

#[doc(hidden)]
pub use made::{cache_bytes, config, fail, file};
#[doc(hidden)]
pub use vocabulary::{STRIDE, places};

use crate::tokenizer::{Params, Scan, Spm};
use dinrail::Result;
use dinrail::cpu::fixed::{Bound, Table};

/// A model as constants. [`static_model!`](crate::static_model) implements it.
pub trait Model: Sized + 'static {
    /// Nodes, operands and kernels.
    type Table: Table;

    /// Where inputs and logits lie.
    const PORTS: Ports;

    /// Positions that the cache holds.
    const CONTEXT: usize;

    /// The arrays of the vocabulary, in the model file.
    const ARRAYS: Arrays;

    /// Gives the table its memory: an arena and a cache of the model's own, once.
    ///
    /// # Errors
    /// [`Error::Full`](dinrail::Error::Full) the second time; what [`Fixed::bind`](dinrail::cpu::Fixed::bind) finds.
    fn bind() -> Result<Bound<'static, Self::Table>>;

    /// The tokenizer (SentencePiece style).
    fn tokenizer() -> Spm<Vocabulary<Self>> {
        Spm::new(Vocabulary::NEW, Scan, Params::LLAMA)
    }
}

/// Makes a model of the Llama family at compile time, as a module of constants with the type `Model`, which implements
/// [`flash::Model`](Model).
///
/// | line | what |
/// |---|---|
/// | `file` | the GGUF file, a `const &[u8]` that `dinrail::bare::include_model!` embeds |
/// | `context` | positions that the cache holds |
/// | `cache` | its type: `DType::F16` (smaller) or `DType::F32` (faster on small cores) |
/// | `level` | the kernels' level: what the target surely has |
///
/// A file that is damaged, not of the family or without a vocabulary does not build.
///
/// ```
/// use dinrail::cpu::Level;
/// use dinrail::tensor::DType;
/// use dinrail_llm::flash::{Story, Teller};
///
/// const FILE: &[u8] = dinrail::bare::include_model!("../../models/stories260K-Q8_0.gguf");
///
/// dinrail_llm::static_model! {
///     mod stories {
///         file: super::FILE,
///         context: 64,
///         cache: super::DType::F32,
///         level: super::Level::Scalar,
///     }
/// }
///
/// # fn main() -> dinrail::Result<()> {
/// let teller = Teller::<stories::Model>::new()?;
/// let mut story = Story::<_, 24>::new(teller, b"Once upon a time")?;
/// let mut text = Vec::new();
/// for _ in 0..12 {
///     text.extend_from_slice(story.piece());
///     story.advance()?;
/// }
/// assert_eq!(text, b" Once upon a time, there was a little gir");
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! static_model {
    (
        $(#[$attribute:meta])*
        $vis:vis mod $name:ident {
            file: $file:expr,
            context: $context:expr,
            cache: $cache:expr,
            level: $level:expr
            $(,)?
        }
    ) => {
        $(#[$attribute])*
        $vis mod $name {
            use $crate::__private::dinrail;

            /// The model file.
            pub static FILE: &[u8] = $file;
            const PARSED: dinrail::gguf::File<'static> = $crate::flash::file($file);
            const CONFIG: $crate::model::Config = $crate::flash::config(&PARSED);
            const SHAPE: $crate::model::Shape =
                $crate::model::Shape::token($context).with_cache($cache);
            const LEVEL: dinrail::cpu::Level = $level;

            const fn graph(b: &mut dinrail::graph::Builder<'_>) -> $crate::model::Nodes {
                let mut layers = [$crate::model::Layer::NONE; CONFIG.layers];
                let slot = $crate::model::WEIGHTS;
                match $crate::model::Weights::find(PARSED.header(), &CONFIG, slot, &mut layers) {
                    Ok(weights) => $crate::model::build(&CONFIG, &weights, &SHAPE, b),
                    Err(e) => $crate::flash::fail(&e),
                }
            }

            dinrail::static_plan! {
                /// Graph, plan and table.
                pub mod plan {
                    graph: super::graph => $crate::model::Nodes,
                    level: super::LEVEL,
                }
            }

            /// Bytes of the cache of keys and values.
            pub const CACHE_BYTES: usize = $crate::flash::cache_bytes(&CONFIG, &SHAPE);
            const _: () = assert!(plan::TABLE.slot_bytes($crate::model::CACHE) == CACHE_BYTES);

            static ARENA: dinrail::bare::Ram<{ plan::ARENA }> = dinrail::bare::Ram::new();
            static CACHE: dinrail::bare::Ram<CACHE_BYTES> = dinrail::bare::Ram::new();

            /// The model.
            #[derive(Clone, Copy, Debug)]
            pub struct Model;

            const ARRAYS: $crate::flash::Arrays = $crate::flash::Arrays::find(&PARSED);
            static PLACES: [u16; ARRAYS.len().div_ceil($crate::flash::STRIDE)] =
                $crate::flash::places(&ARRAYS);

            impl $crate::flash::Model for Model {
                type Table = plan::Table;

                const PORTS: $crate::flash::Ports = $crate::flash::Ports {
                    token: plan::port(plan::NODES.tokens),
                    position: plan::port(plan::NODES.positions),
                    cell: plan::port(plan::NODES.kv_index),
                    mask: plan::port(plan::NODES.mask),
                    logits: plan::port(plan::NODES.logits),
                };
                const CONTEXT: usize = $context;
                const ARRAYS: $crate::flash::Arrays = ARRAYS.with_places(&PLACES);

                fn bind() -> dinrail::Result<dinrail::cpu::fixed::Bound<'static, Self::Table>> {
                    use dinrail::cpu::Memory;
                    let arena = Memory::Write(ARENA.try_take()?);
                    let cache = Memory::Write(CACHE.try_take()?);
                    plan::TABLE.bind([arena, Memory::Read(FILE), cache])
                }
            }
        }
    };
}
