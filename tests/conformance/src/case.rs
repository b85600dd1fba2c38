//! One case, and products of cases.

use crate::fill::Fill;
use dinrail_core::Error;
use dinrail_core::graph::{Builder, MAX_SRC, Node, NodeId, Place};
use dinrail_core::op::{Op, Sources, infer};
use dinrail_core::tensor::DType;

/// Most sources of a case.
pub const SOURCES: usize = 5;

/// In a list of source shapes: an optional source that is left out.
pub const NO: [usize; 4] = [usize::MAX; 4];

/// How a source lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Without gaps, in order.
    Packed,
    /// As a permuted view of a packed tensor: dimension `i` of that is dimension `axes[i]` of the source.
    Permuted([u8; 4]),
    /// As a window on a larger tensor: rows have gaps between them, and the first one doesn't start the memory.
    Window,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Lengths.
    pub ne: [usize; 4],
    /// Layout.
    pub layout: Layout,
    /// Values.
    pub fill: Fill,
}

impl Tensor {
    /// Lengths of the packed tensor in memory that the source is a view of.
    pub fn stored(&self) -> [usize; 4] {
        let [n0, n1, n2, n3] = self.ne;
        match self.layout {
            Layout::Packed => self.ne,
            Layout::Permuted(axes) => axes.map(|a| self.ne[usize::from(a)]),
            Layout::Window => [n0 + 2 * self.dtype.block_len(), n1 + 1, n2 + 1, n3],
        }
    }

    /// Adds the source to a graph: a leaf at a byte of a slot, and the view of it.
    pub fn build(&self, b: &mut Builder<'_>, slot: u8, offset: usize) -> NodeId {
        let leaf = b.leaf(self.dtype, self.stored(), slot, offset);
        match (self.layout, b.desc(leaf)) {
            (Layout::Permuted(axes), _) => b.permute(leaf, axes),
            (Layout::Window, Some(d)) => {
                let first = d.nb[0] + d.nb[1];
                b.view(leaf, self.ne, [d.nb[1], d.nb[2], d.nb[3]], first)
            }
            _ => leaf,
        }
    }

    /// Whether the type can lie like that.
    fn exists(&self) -> bool {
        let block = self.dtype.block_len();
        let inner = !matches!(self.layout, Layout::Permuted([first, ..]) if first != 0);
        self.ne[0].is_multiple_of(block) && (block == 1 || inner)
    }
}

/// One operation on sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The group that it is of.
    pub group: &'static str,
    /// Number within the group, which also seeds the values.
    pub number: usize,
    /// The operation.
    pub op: Op,
    /// Sources; `None` for optional ones that are left out.
    pub src: [Option<Tensor>; SOURCES],
    /// Lengths of the result where the operation doesn't fix them.
    pub want: Option<[usize; 4]>,
}

impl Case {
    /// Type of the first source, or of the result where there is none.
    pub fn dtype(&self) -> DType {
        self.src[0].map_or(DType::F32, |t| t.dtype)
    }

    /// Type that the support table files the case under: of what is converted to, where that is the point.
    pub fn filed_under(&self) -> DType {
        let target = match self.op {
            Op::SetRows => self.src[2],
            Op::FlashAttn { .. } => self.src[1],
            _ => None,
        };
        target.map_or(self.dtype(), |t| t.dtype)
    }

    /// Adds the operation to a graph whose nodes `src` are the sources, with its result at a byte of a slot (in a source's
    /// memory, for operations that write there by definition).
    pub fn build(&self, b: &mut Builder<'_>, src: &[NodeId], slot: u8, offset: usize) -> NodeId {
        if self.op.alias().is_some() {
            return b.op_to(self.op, src, self.want);
        }
        // The builder would place the result in the arena; here it has neighbours to be watched.
        let mut known = Sources::NONE;
        for (i, id) in src.iter().enumerate() {
            if let Some(d) = b.desc(*id) {
                known = known.with(i, d);
            }
        }
        let desc = match infer(&self.op, &known, self.want) {
            Ok(desc) => desc,
            Err(reason) => {
                let node = NodeId(b.len() as u16);
                return b.fail(Error::Node { node, op: self.op.kind(), reason });
            }
        };
        let mut sources = [NodeId::NONE; MAX_SRC];
        for (to, from) in sources.iter_mut().zip(src) {
            *to = *from;
        }
        let place = Place::Slot { slot, offset };
        b.node(Node { desc, op: self.op, src: sources, place, ..Node::EMPTY })
    }
}

impl core::fmt::Display for Case {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} #{}: {:?}", self.group, self.number, self.op)?;
        for t in self.src.iter().flatten() {
            write!(f, "  {}{:?}", t.dtype, t.ne)?;
            if t.layout != Layout::Packed {
                write!(f, " {:?}", t.layout)?;
            }
        }
        Ok(())
    }
}

/// Lengths of the sources, and of the result where the operation doesn't fix them.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Sources; [`NO`] for one that is left out.
    pub src: &'static [[usize; 4]],
    /// Result.
    pub want: Option<[usize; 4]>,
}

impl Shape {
    /// Lengths of the sources only.
    pub const fn of(src: &'static [[usize; 4]]) -> Self {
        Self { src, want: None }
    }

    /// Lengths of the source and of the result.
    pub const fn to(src: &'static [[usize; 4]], want: [usize; 4]) -> Self {
        Self { src, want: Some(want) }
    }
}

/// A product of cases. Each list has one entry for each alternative; an entry has one value for each source, of which the
/// last ones may be left out (F32, packed, between -1 and 1).
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Name.
    pub name: &'static str,
    /// Operations.
    pub ops: &'static [Op],
    /// Lengths.
    pub shapes: &'static [Shape],
    /// Types.
    pub types: &'static [&'static [DType]],
    /// Layouts.
    pub layouts: &'static [&'static [Layout]],
    /// Values.
    pub fills: &'static [&'static [Fill]],
}

/// Sources packed.
pub const PACKED: &[&[Layout]] = &[&[]];
/// Values between -1 and 1.
pub const PLAIN: &[&[Fill]] = &[&[]];
/// All sources F32.
pub const F32: &[&[DType]] = &[&[]];

impl Group {
    /// The cases, without those whose types can't have their shapes or layouts.
    pub fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        (0..self.product()).filter_map(|i| self.case(i))
    }

    fn product(&self) -> usize {
        self.ops.len()
            * self.shapes.len()
            * self.types.len()
            * self.layouts.len()
            * self.fills.len()
    }

    /// Case `number` of the whole product; `None` past the end and where a type can't have its shape or layout.
    pub fn case(&self, number: usize) -> Option<Case> {
        let mut i = number;
        let mut digit = |n: usize| {
            let digit = i % n.max(1);
            i /= n.max(1);
            digit
        };
        let op = *self.ops.get(digit(self.ops.len()))?;
        let types = *self.types.get(digit(self.types.len()))?;
        let layouts = *self.layouts.get(digit(self.layouts.len()))?;
        let fills = *self.fills.get(digit(self.fills.len()))?;
        let shape = *self.shapes.get(digit(self.shapes.len()))?;
        let mut src = [None; SOURCES];
        for (k, (to, ne)) in src.iter_mut().zip(shape.src).enumerate() {
            if *ne == NO {
                continue;
            }
            let tensor = Tensor {
                dtype: types.get(k).copied().unwrap_or(DType::F32),
                ne: *ne,
                layout: layouts.get(k).copied().unwrap_or(Layout::Packed),
                fill: fills.get(k).copied().unwrap_or(Fill::Uniform(-1.0, 1.0)),
            };
            if !tensor.exists() {
                return None;
            }
            *to = Some(tensor);
        }
        if let (Some(ne), Some(t)) = (shape.want, &src[0])
            && !ne[0].is_multiple_of(t.dtype.block_len())
        {
            return None;
        }
        Some(Case { group: self.name, number, op, src, want: shape.want })
    }
}
