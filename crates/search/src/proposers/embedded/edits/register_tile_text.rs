//! The text of a register tile. Decides nothing: `register_tile` has found the holes.

use super::register_tile::WIDTH;
use crate::proposers::embedded::affine::{Factor, access_factor, accesses};
use crate::proposers::embedded::reduction::Reduction;
use crate::proposers::embedded::rewrite::{lines, rename, render};
use crate::proposers::embedded::syntax::{Code, Loop};
use std::fmt::Write as _;
use tree_sitter::Node;

/// An access that is copied before the loops, so that the lanes' loop runs along it.
pub struct Pack<'t> {
    /// The access.
    pub access: Node<'t>,
}

/// The filled-in template.
pub struct Tile<'a, 't> {
    /// The source.
    pub code: &'a Code,
    /// The sum.
    pub reduction: &'a Reduction<'t>,
    /// The loop whose turns become rows, if there is one.
    pub rows: Option<&'a Loop<'t>>,
    /// The loop whose turns become lanes.
    pub columns: &'a Loop<'t>,
    /// What is packed.
    pub packs: &'a [Pack<'t>],
    /// Rows of a tile.
    pub height: i64,
    /// Vectors of a row.
    pub vectors: i64,
}

/// The names that the text needs and the source doesn't use.
struct Names {
    row: String,
    column: String,
    tile: String,
    u: String,
    w: String,
    packs: Vec<String>,
}

/// Everything that replaces the loops.
pub fn write(tile: &Tile<'_, '_>) -> String {
    let names = names(tile);
    let mut out = String::from("{\n");
    for (pack, name) in tile.packs.iter().zip(&names.packs) {
        out.push_str(&copy(tile, pack, name));
    }
    let Some(rows) = tile.rows else {
        out.push_str(&strips(tile, &names, 1));
        out.push_str("}\n");
        return out;
    };
    let (row, low, kind) = (&names.row, &rows.low, counter(rows));
    let end = rows.end(tile.code);
    let _ = writeln!(out, "{kind} {row} = {low};");
    let _ = writeln!(out, "for (; {row} + {} <= {end}; {row} += {}) {{", tile.height, tile.height);
    out.push_str(&strips(tile, &names, tile.height));
    out.push_str("}\n");
    if tile.code.trip(rows).is_none_or(|trip| trip % tile.height != 0) {
        let _ = writeln!(out, "for (; {row} < {end}; {row}++) {{");
        out.push_str(&strips(tile, &names, 1));
        out.push_str("}\n");
    }
    out.push_str("}\n");
    out
}

fn names(tile: &Tile<'_, '_>) -> Names {
    let fresh = |wish: String| tile.code.fresh(&wish);
    let mut packs: Vec<String> = Vec::new();
    for pack in tile.packs {
        let base = tile.code.all(pack.access, "identifier").first().map_or("x", |n| tile.code.of(*n)).to_owned();
        let mut name = fresh(format!("{base}_packed"));
        while packs.contains(&name) {
            name.push('x');
        }
        packs.push(name);
    }
    Names {
        row: fresh(tile.rows.map_or("row0".to_owned(), |rows| format!("{}0", rows.var))),
        column: fresh(format!("{}0", tile.columns.var)),
        tile: fresh(format!("{}_tile", tile.reduction.name)),
        u: fresh("u".to_owned()),
        w: fresh("w".to_owned()),
        packs,
    }
}

fn counter<'a>(repeat: &'a Loop<'_>) -> &'a str {
    if repeat.kind.is_empty() { "int64_t" } else { &repeat.kind }
}

/// `packed[c][y] = access`.
fn copy(tile: &Tile<'_, '_>, pack: &Pack<'_>, name: &str) -> String {
    let (code, columns, inner) = (tile.code, tile.columns, &tile.reduction.inner);
    let (height, width) = (span(code, inner), span(code, columns));
    let (c, y) = (from_low(&inner.var, &inner.low), from_low(&columns.var, &columns.low));
    let (kind, var, low, end) = (counter(columns), &columns.var, &columns.low, columns.end(code));
    format!(
        "_Alignas(64) float {name}[{height} * {width}];\n\
         for ({kind} {var} = {low}; {var} < {end}; {var}++) {{\n{} {{\n{name}[{c} * {width} + {y}] = {};\n}}\n}}\n",
        inner.header(code),
        code.of(pack.access),
    )
}

/// How often a loop runs, as an expression.
fn span(code: &Code, repeat: &Loop<'_>) -> String {
    if repeat.low == "0" { repeat.end(code) } else { format!("({} - ({}))", repeat.end(code), repeat.low) }
}

/// A counter less its first value, as an expression.
fn from_low(var: &str, low: &str) -> String {
    if low == "0" { var.to_owned() } else { format!("({var} - ({low}))") }
}

/// The loop over the columns for `height` rows, and what is left over at its end.
fn strips(tile: &Tile<'_, '_>, names: &Names, height: i64) -> String {
    let columns = tile.columns;
    let (column, end, kind) = (&names.column, columns.end(tile.code), counter(columns));
    let lanes = tile.vectors * WIDTH;
    let mut out = format!("{kind} {column} = {};\n", columns.low);
    let _ = writeln!(out, "for (; {column} + {lanes} <= {end}; {column} += {lanes}) {{");
    out.push_str(&body(tile, names, height));
    out.push_str("}\n");
    let whole = tile.code.trip(columns).is_some_and(|trip| trip % lanes == 0);
    if !whole {
        out.push_str(&rest(tile, names, height));
    }
    out
}

/// The original statements for the columns that don't fill a tile.
fn rest(tile: &Tile<'_, '_>, names: &Names, height: i64) -> String {
    let columns = tile.columns;
    let (kind, y, end) = (counter(columns), &columns.var, columns.end(tile.code));
    let statements = lines(tile.code, &tile.reduction.outer.statements);
    let strip = format!("for ({kind} {y} = {}; {y} < {end}; {y}++) {{\n{statements}}}\n", names.column);
    let Some(rows) = tile.rows else { return strip };
    let (kind, x, row) = (counter(rows), &rows.var, &names.row);
    format!("for ({kind} {x} = {row}; {x} < {row} + {height}; {x}++) {{\n{strip}}}\n")
}

/// One tile: accumulators, the sum, the tail for every element.
fn body(tile: &Tile<'_, '_>, names: &Names, height: i64) -> String {
    let (code, reduction) = (tile.code, tile.reduction);
    let sum = &reduction.name;
    let mut out = String::new();
    for u in 0..height {
        let row: Vec<String> = (0..tile.vectors).map(|v| format!("{sum}_{u}_{v} = {{0}}")).collect();
        let _ = writeln!(out, "lanes {};", row.join(", "));
    }
    let _ = writeln!(out, "{} {{", reduction.inner.header(code));
    out.push_str(&step(tile, names, height));
    out.push_str("}\n");
    let lanes = tile.vectors * WIDTH;
    let array = &names.tile;
    let _ = writeln!(out, "_Alignas(64) float {array}[{height}][{lanes}];");
    for u in 0..height {
        for v in 0..tile.vectors {
            let _ = writeln!(out, "*(lanes_any *)&{array}[{u}][{}] = {sum}_{u}_{v};", v * WIDTH);
        }
    }
    out.push_str(&tail(tile, names, height));
    out
}

fn tail(tile: &Tile<'_, '_>, names: &Names, height: i64) -> String {
    let columns = tile.columns;
    let (y, lanes) = (&columns.var, tile.vectors * WIDTH);
    let (u, w) = (&names.u, &names.w);
    let mut out = format!("for (int {u} = 0; {u} < {height}; {u}++) {{\nfor (int {w} = 0; {w} < {lanes}; {w}++) {{\n");
    if let Some(rows) = tile.rows {
        let _ = writeln!(out, "const {} {} = {} + {u};", counter(rows), rows.var, names.row);
    }
    let _ = writeln!(out, "const {} {y} = {} + {w};", counter(columns), names.column);
    let _ = writeln!(out, "const float {} = {}[{u}][{w}];", tile.reduction.name, names.tile);
    out.push_str(&lines(tile.code, &tile.reduction.tail));
    out.push_str("}\n}\n");
    out
}

/// One turn of the summing loop: loads, broadcasts, multiply-adds.
fn step(tile: &Tile<'_, '_>, names: &Names, height: i64) -> String {
    let (code, term) = (tile.code, tile.reduction.term);
    let loads: Vec<Load> = accesses(code, term).into_iter().enumerate().map(|(n, a)| load(tile, names, a, n)).collect();
    let mut out = String::new();
    for load in &loads {
        out.push_str(&load.declare(height, tile.vectors));
    }
    for u in 0..height {
        for v in 0..tile.vectors {
            let value = render(code, term, &|node| {
                let load =
                    loads.iter().find(|load| load.text == code.of(node) && node.kind() == "subscript_expression")?;
                Some(load.name(u, v))
            });
            let _ = writeln!(out, "{}_{u}_{v} += {value};", tile.reduction.name);
        }
    }
    out
}

/// How one access is read in a tile.
struct Load {
    text: String,
    stem: String,
    by_row: bool,
    by_vector: bool,
    /// Text for (row, vector); `{u}` and `{v}` are not known yet when it is made, so there is one per pair.
    at: Vec<Vec<String>>,
}

impl Load {
    fn name(&self, u: i64, v: i64) -> String {
        match (self.by_row, self.by_vector) {
            (false, false) => self.stem.clone(),
            (true, false) => format!("{}_{u}", self.stem),
            (false, true) => format!("{}_{v}", self.stem),
            (true, true) => format!("{}_{u}_{v}", self.stem),
        }
    }

    fn declare(&self, height: i64, vectors: i64) -> String {
        let mut out = String::new();
        for u in 0..if self.by_row { height } else { 1 } {
            for v in 0..if self.by_vector { vectors } else { 1 } {
                let (name, at) = (self.name(u, v), &self.at[u as usize][v as usize]);
                let _ = if self.by_vector {
                    writeln!(out, "const lanes {name} = *(const lanes_any *)&{at};")
                } else {
                    writeln!(out, "const float {name} = {at};")
                };
            }
        }
        out
    }
}

fn load(tile: &Tile<'_, '_>, names: &Names, access: Node<'_>, number: usize) -> Load {
    let code = tile.code;
    let packed = tile.packs.iter().position(|pack| code.of(pack.access) == code.of(access));
    let by_row = tile.rows.is_some_and(|rows| code.mentions(access, &rows.var));
    let by_vector = packed.is_some() || access_factor(code, access, &tile.columns.var) == Factor::One;
    let text = |u: i64, v: i64| {
        let column = offset(&names.column, v * WIDTH);
        if let Some(pack) = packed {
            let (inner, columns) = (&tile.reduction.inner, tile.columns);
            let width = span(code, columns);
            let turn = from_low(&inner.var, &inner.low);
            return format!("{}[{turn} * {width} + {}]", names.packs[pack], from_low(&column, &columns.low));
        }
        let row = offset(&names.row, u);
        let mut changes = vec![(tile.columns.var.as_str(), column.as_str())];
        if let Some(rows) = tile.rows {
            changes.push((rows.var.as_str(), row.as_str()));
        }
        rename(code, access, &changes)
    };
    let at = (0..tile.height).map(|u| (0..tile.vectors).map(|v| text(u, v)).collect()).collect();
    let stem = code.fresh(&format!("{}{number}", if by_vector { "vec" } else { "one" }));
    Load { text: code.of(access).to_owned(), stem, by_row, by_vector, at }
}

fn offset(name: &str, by: i64) -> String {
    if by == 0 { name.to_owned() } else { format!("({name} + {by})") }
}
