//! Register-blocked sums: `s = sum over c of E(x, y, c)` for a tile of x and y at once, y in vector lanes.
//!
//! Finds the holes (which loop is x, y, c; which accesses are loads, broadcasts, or have to be packed); the text is
//! made next door. What it relies on unseen: sums for different x and y don't depend on each other.

use super::Offer;
use super::register_tile_text::{Pack, Tile, write};
use crate::proposers::embedded::affine::{Factor, access_factor, accesses, is_arithmetic};
use crate::proposers::embedded::reduction::{Reduction, around, reductions};
use crate::proposers::embedded::rewrite::{LANES, LANES_MARK, Patch, with_prelude};
use crate::proposers::embedded::syntax::{Code, Loop, children};
use tree_sitter::Node;

/// Lanes of one vector (64 bytes of f32).
pub const WIDTH: i64 = 16;
/// Rows x vectors. Up to 16 accumulators and their operands fit the 32 vector registers of AVX-512 and NEON.
const SHAPES: &[(i64, i64)] = &[(4, 4), (8, 2), (8, 1), (4, 2), (2, 8), (6, 4), (12, 2), (16, 1), (4, 1), (2, 4)];
/// Vectors when there is one row.
const SINGLE: &[(i64, i64)] = &[(1, 8), (1, 4), (1, 2), (1, 1)];
/// A packed copy stays within the first cache level.
const PACK_LIMIT: i64 = 8192;

/// Every way to tile every sum.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for reduction in reductions(code) {
        let usable = reduction.lead.is_empty()
            && !reduction.tail.is_empty()
            && reduction.kind == "float"
            && reduction.starts_at_zero(code)
            && is_arithmetic(reduction.term);
        if usable {
            found.extend(of_one(code, &reduction));
        }
    }
    found
}

fn of_one(code: &Code, reduction: &Reduction<'_>) -> Vec<Offer> {
    let inner = reduction.outer.clone();
    let mut found = Vec::new();
    if let Some(parent) = around(code, reduction) {
        let apart = !inner.header_mentions(code, &parent.var) && parent.step == "1";
        if apart {
            found.extend(tiles(code, reduction, Some(&inner), &parent, SHAPES));
            found.extend(tiles(code, reduction, Some(&parent), &inner, SHAPES));
        }
    }
    found.extend(tiles(code, reduction, None, &inner, SINGLE));
    found
}

fn tiles(
    code: &Code,
    reduction: &Reduction<'_>,
    rows: Option<&Loop<'_>>,
    columns: &Loop<'_>,
    shapes: &[(i64, i64)],
) -> Vec<Offer> {
    let Some(packs) = packs(code, reduction, rows, columns) else { return Vec::new() };
    let hidden = |l: &Loop<'_>| occurs_bare(code, reduction.term, &l.var);
    if hidden(columns) || rows.is_some_and(hidden) {
        return Vec::new();
    }
    let header_is_free = [Some(columns), rows]
        .into_iter()
        .flatten()
        .all(|l| l.step == "1" && !reduction.inner.header_mentions(code, &l.var));
    if !header_is_free {
        return Vec::new();
    }
    let outermost = match rows {
        Some(rows) if rows.node.start_byte() < columns.node.start_byte() => rows,
        _ => columns,
    };
    let fits = |shape: &&(i64, i64)| {
        let wide = code.trip(columns).is_none_or(|trip| shape.1 * WIDTH <= trip);
        let tall = rows.and_then(|rows| code.trip(rows)).is_none_or(|trip| shape.0 <= trip);
        wide && tall
    };
    let offer = |shape: &(i64, i64)| {
        let tile = Tile { code, reduction, rows, columns, packs: &packs, height: shape.0, vectors: shape.1 };
        let text = Patch::replace(code.span(outermost.node), write(&tile).trim_end()).apply(code);
        let rows = rows.map_or(String::new(), |rows| format!("{}{} x ", shape.0, rows.var));
        let what = format!("{} {rows}{}{}", reduction.name, shape.1 * WIDTH, columns.var);
        Offer::text(code, code.line(outermost.node), what, with_prelude(&text, LANES_MARK, LANES))
    };
    shapes.iter().filter(fits).map(offer).collect()
}

/// Whether a counter is used as a value, outside of any access.
fn occurs_bare(code: &Code, node: Node<'_>, name: &str) -> bool {
    match node.kind() {
        "subscript_expression" => false,
        "identifier" => code.of(node) == name,
        _ => children(node).into_iter().any(|n| occurs_bare(code, n, name)),
    }
}

/// Accesses that have to be packed so that y is contiguous; none at all when the tile can't be written.
fn packs<'t>(
    code: &Code,
    reduction: &Reduction<'t>,
    rows: Option<&Loop<'_>>,
    columns: &Loop<'_>,
) -> Option<Vec<Pack<'t>>> {
    let mut packs = Vec::new();
    let mut contiguous = 0;
    for access in accesses(code, reduction.term) {
        match access_factor(code, access, &columns.var) {
            Factor::Zero => {}
            Factor::One => contiguous += 1,
            Factor::Other => {
                let rows = rows?;
                let size = code.trip(columns)?.checked_mul(code.trip(&reduction.inner)?)?;
                let free = !code.mentions(access, &rows.var) && size <= PACK_LIMIT;
                free.then_some(())?;
                packs.push(Pack { access });
            }
        }
    }
    (contiguous + packs.len() > 0).then_some(packs)
}
