//! Graph, plan and kernels as constants: [`static_plan!`](macro@crate::static_plan).

pub use dinrail_bare::Ram;
use dinrail_core::Error;

/// Makes a graph, its plan and its kernels at compile time, as a module of constants. The firmware holds the finished
/// tables and none of the code that made them.
///
/// `graph` is a `const fn(&mut Builder) -> T`; what it returns, usually the nodes that are written and read, is the
/// constant `NODES`. With `arena: N` the arena has `N` bytes, and the build fails when the plan needs more, naming both
/// numbers; without, it has just what the plan needs.
///
/// ```
/// use dinrail::cpu::{Level, Memory};
/// use dinrail::graph::{Builder, NodeId};
/// use dinrail::tensor::DType;
///
/// const fn layer(b: &mut Builder<'_>) -> [NodeId; 2] {
///     let x = b.input(DType::F32, [4, 1, 1, 1]);
///     let w = b.weight(DType::F32, [4, 2, 1, 1], 1, 0);
///     let y = b.mul_mat(w, x);
///     let y = b.relu(y);
///     b.output(y);
///     [x, y]
/// }
///
/// dinrail::static_plan! {
///     mod plan {
///         graph: super::layer => [super::NodeId; 2],
///         level: super::Level::Scalar,
///         arena: 128,
///     }
/// }
/// const IN: dinrail::cpu::Port = plan::port(plan::NODES[0]);
/// const OUT: dinrail::cpu::Port = plan::port(plan::NODES[1]);
/// static RAM: dinrail::static_plan::Ram<{ plan::ARENA }> = dinrail::static_plan::Ram::new();
///
/// # #[repr(align(64))] struct Aligned([u8; 32]);
/// # fn main() -> dinrail::Result<()> {
/// # let mut weights = Aligned([0; 32]);
/// # for (to, w) in weights.0.chunks_exact_mut(4).zip([1f32, 2.0, 3.0, 4.0, -1.0, -1.0, -1.0, -1.0]) {
/// #     to.copy_from_slice(&w.to_le_bytes());
/// # }
/// # let weights: &'static [u8] = &Box::leak(Box::new(weights)).0;
/// let arena = RAM.take().expect("nobody has it yet");
/// let mut model = plan::TABLE.bind([Memory::Write(arena), Memory::Read(weights)])?;
/// model.write(IN)?.copy_from_slice(&[1.0f32, 1.0, 1.0, 1.0]);
/// model.run()?;
/// assert_eq!(model.read::<f32>(OUT)?, [10.0, 0.0]);
/// # Ok(())
/// # }
/// ```
///
/// An arena that is one byte too small doesn't build:
///
/// ```compile_fail
/// # use dinrail::{cpu::Level, graph::{Builder, NodeId}, tensor::DType};
/// # const fn layer(b: &mut Builder<'_>) -> [NodeId; 2] {
/// #     let x = b.input(DType::F32, [4, 1, 1, 1]);
/// #     let y = b.relu(x);
/// #     b.output(y);
/// #     [x, y]
/// # }
/// dinrail::static_plan! {
///     mod plan {
///         graph: super::layer => [super::NodeId; 2],
///         level: super::Level::Scalar,
///         arena: 63, // "the arena has 63 bytes, but the plan takes 64"
///     }
/// }
/// # fn main() { let _ = plan::ARENA; }
/// ```
#[macro_export]
macro_rules! static_plan {
    (
        $(#[$attribute:meta])*
        $vis:vis mod $name:ident {
            graph: $graph:path => $nodes:ty,
            level: $level:expr
            $(, arena: $arena:expr)?
            $(,)?
        }
    ) => {
        $(#[$attribute])*
        $vis mod $name {
            const MEASURED: ($crate::graph::GraphBuf<{ $crate::static_plan::MOST_NODES }>, $nodes) = {
                let mut buf = $crate::graph::GraphBuf::new();
                let mut b = buf.builder();
                let nodes = $graph(&mut b);
                match b.finish() {
                    Ok(_) => (buf, nodes),
                    Err(e) => panic!("{}", $crate::static_plan::Text::error(&e).as_str()),
                }
            };
            const LEN: usize = MEASURED.0.graph().len();
            const GRAPH: $crate::graph::GraphBuf<LEN> = {
                let mut buf = $crate::graph::GraphBuf::new();
                let mut b = buf.builder();
                let _ = $graph(&mut b);
                match b.finish() {
                    Ok(_) => buf,
                    Err(e) => panic!("{}", $crate::static_plan::Text::error(&e).as_str()),
                }
            };
            /// What the function that builds the graph returned.
            #[allow(dead_code)]
            pub const NODES: $nodes = MEASURED.1;

            const SIZES: $crate::cpu::fixed::Sizes = $crate::cpu::fixed::Sizes::of(GRAPH.graph());
            const OPTIONS: $crate::plan::Options = $crate::plan::Options {
                align: $crate::static_plan::ALIGN,
                scratch: match $crate::cpu::fixed::scratch(GRAPH.graph(), $level) {
                    Ok(n) => n,
                    Err(e) => panic!("{}", $crate::static_plan::Text::error(&e).as_str()),
                },
                in_place: true,
            };
            const PLAN: $crate::plan::PlanBuf<LEN> =
                match $crate::plan::PlanBuf::new(GRAPH.graph(), &OPTIONS) {
                    Ok(p) => p,
                    Err(e) => panic!("{}", $crate::static_plan::Text::error(&e).as_str()),
                };

            /// Peak and lower bound of the arena.
            #[allow(dead_code)]
            pub const SUMMARY: $crate::plan::Summary = *PLAN.plan().summary();
            /// Bytes of the arena.
            pub const ARENA: usize = {
                #[allow(unused_variables)]
                let have = SUMMARY.arena;
                $(let have: usize = $arena;)?
                if have < SUMMARY.arena {
                    panic!("{}", $crate::static_plan::Text::arena(have, SUMMARY.arena).as_str());
                }
                have
            };
            // Also where nobody asks for `ARENA`.
            const _: usize = ARENA;

            /// The type of [`TABLE`].
            pub type Table = $crate::cpu::Fixed<
                { SIZES.steps },
                { SIZES.operands },
                { SIZES.descs },
                { SIZES.ops },
                { SIZES.slots },
            >;
            /// Nodes, operands and kernels.
            pub static TABLE: Table =
                match $crate::cpu::Fixed::new(GRAPH.graph(), PLAN.plan(), $level) {
                    Ok(table) => table,
                    Err(e) => panic!("{}", $crate::static_plan::Text::error(&e).as_str()),
                };

            /// Where a node's data lies. For `const`s.
            #[allow(dead_code)]
            pub const fn port(node: $crate::graph::NodeId) -> $crate::cpu::Port {
                match $crate::cpu::Port::of(GRAPH.graph(), PLAN.plan(), node) {
                    Ok(port) => port,
                    Err(e) => panic!("{}", $crate::static_plan::Text::error(&e).as_str()),
                }
            }
        }
    };
}

/// Most nodes of a graph that [`static_plan!`](macro@crate::static_plan) builds.
pub const MOST_NODES: usize = dinrail_cpu::fixed::MOST_NODES;

/// Alignment of tensors in the arena: the strictest element type. Small cores have no cache lines to fill.
pub const ALIGN: usize = if cfg!(target_pointer_width = "32") { 8 } else { 64 };

/// A message of the compiler, composed in a `const`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Text {
    bytes: [u8; 200],
    len: usize,
}

impl Text {
    const fn new() -> Self {
        Self { bytes: [0; 200], len: 0 }
    }

    const fn then(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() && self.len < self.bytes.len() {
            // What isn't ASCII would be cut in two.
            self.bytes[self.len] = if bytes[i].is_ascii() { bytes[i] } else { b'?' };
            self.len += 1;
            i += 1;
        }
        self
    }

    const fn number(self, n: usize) -> Self {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let head = if n >= 10 { self.number(n / 10) } else { self };
        head.then(DIGITS[n % 10])
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        match self.bytes.split_at_checked(self.len) {
            Some((text, _)) => match core::str::from_utf8(text) {
                Ok(text) => text,
                Err(_) => "",
            },
            None => "",
        }
    }

    /// An arena that is too small.
    pub const fn arena(have: usize, need: usize) -> Self {
        let text =
            Self::new().then("the arena has ").number(have).then(" bytes, but the plan takes ");
        text.number(need)
    }

    /// Why graph, plan or table can't be made.
    pub const fn error(e: &Error) -> Self {
        let t = Self::new();
        match e {
            Error::Node { node, op, reason } => {
                let t = t.then("node ").number(node.index()).then(" (").then(op.name());
                t.then("): ").then(reason.text())
            }
            Error::Unsupported { node, op } => {
                let t = t.then("node ").number(node.index()).then(" (").then(op.name());
                t.then("): this level has no kernel for these types and shapes")
            }
            Error::Full { need, have, .. } => {
                let t = t.then("out of room: ").number(*need).then(" needed, capacity is ");
                t.number(*have)
            }
            Error::Misaligned { address, align } => {
                let t = t.then("a tensor lies at offset ").number(*address);
                t.then(", which is not a multiple of ").number(*align)
            }
            Error::Size(_) => t.then("a tensor, the plan or a slot does not fit the address space"),
            Error::Range { offset, len, size } => {
                let t = t.then("a tensor of ").number(*len).then(" bytes at byte ").number(*offset);
                t.then(" does not fit ").number(*size).then(" bytes")
            }
            Error::ReadOnly => t.then("a node writes to memory that may only be read"),
            _ => t.then("the graph, its plan or its table can't be made"),
        }
    }
}
