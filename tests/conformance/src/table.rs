//! The support table: operation by type, for each device, out of the cases.

use crate::case::Case;
use crate::image::Image;
use core::fmt::Write;
use dinrail_core::hal::{Device, Query};
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// Whether the device supports a case; `None` if the case can't be built.
pub fn supports(device: &dyn Device, case: &Case) -> Option<bool> {
    answers(&|q| device.supports(q), case)
}

fn answers(supports: &dyn Fn(&Query<'_>) -> bool, case: &Case) -> Option<bool> {
    let image = Image::new(case, 64, None).ok()?;
    let sources = Query::sources(image.graph(), image.node);
    let node = image.graph().node(image.node)?;
    Some(supports(&Query::of(node, &sources)))
}

/// The operation's name, with that of its function.
pub fn name(op: &Op) -> (&'static str, Option<&'static str>) {
    match op {
        Op::Unary(u) => (op.kind().name(), Some(u.name())),
        Op::Glu(g) => (op.kind().name(), Some(g.kind.name())),
        _ => (op.kind().name(), None),
    }
}

/// How many cases of a cell there are, and how many of them are supported.
#[derive(Clone, Copy, Default)]
struct Cell {
    all: u16,
    supported: u16,
}

impl Cell {
    const fn text(self) -> &'static str {
        match (self.all, self.supported) {
            (0, _) => "",
            (_, 0) => "–",
            (a, s) if a == s => "✓",
            _ => "◐",
        }
    }
}

/// More operations than there are, with their functions.
const ROWS: usize = 96;
const COLUMNS: usize = DType::ALL.len();

/// Writes a table in Markdown: operations down, types across. A ✓ means that every case is supported, ◐ some of them, – none;
/// an empty cell, that there is no such case. Columns of types that no case has are left out.
///
/// # Errors
/// Those of `out`.
pub fn write(
    device: &dyn Device,
    cases: impl Iterator<Item = Case>,
    out: &mut impl Write,
) -> core::fmt::Result {
    write_answers(&|q| device.supports(q), cases, out)
}

/// [`write()`] for what would answer as a device does.
///
/// # Errors
/// Those of `out`.
pub fn write_answers(
    supports: &dyn Fn(&Query<'_>) -> bool,
    cases: impl Iterator<Item = Case>,
    out: &mut impl Write,
) -> core::fmt::Result {
    let mut names = [("", None); ROWS];
    let mut cells = [[Cell::default(); COLUMNS]; ROWS];
    let mut used = [false; COLUMNS];
    let mut rows = 0;
    for case in cases {
        let name = name(&case.op);
        let row = names.iter().take(rows).position(|n| *n == name).unwrap_or(rows);
        let column = DType::ALL.iter().position(|t| *t == case.filed_under());
        let (Some(column), Some(supported)) = (column, answers(supports, &case)) else { continue };
        let (Some(n), Some(line)) = (names.get_mut(row), cells.get_mut(row)) else { continue };
        *n = name;
        rows = rows.max(row + 1);
        if let (Some(cell), Some(used)) = (line.get_mut(column), used.get_mut(column)) {
            cell.all += 1;
            cell.supported += u16::from(supported);
            *used = true;
        }
    }
    let columns = || DType::ALL.iter().zip(&used).enumerate().filter(|(_, (_, used))| **used);
    write!(out, "| |")?;
    columns().try_for_each(|(_, (t, _))| write!(out, " {t} |"))?;
    write!(out, "\n|---|")?;
    columns().try_for_each(|_| write!(out, ":-:|"))?;
    writeln!(out)?;
    for ((op, function), line) in names.iter().zip(&cells).take(rows) {
        match function {
            Some(f) => write!(out, "| {op} {f} |")?,
            None => write!(out, "| {op} |")?,
        }
        for (column, _) in columns() {
            write!(out, " {} |", line.get(column).map_or("", |c| c.text()))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
