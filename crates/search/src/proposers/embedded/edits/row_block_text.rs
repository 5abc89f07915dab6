//! The text of a row block. Decides nothing: `row_block` has found what varies.

use super::row_block::declared_name;
use crate::proposers::embedded::rewrite::render;
use crate::proposers::embedded::syntax::{Code, Loop};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tree_sitter::Node;

/// Where the rows of a private buffer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The block's elements side by side: lanes run over the turns.
    Interleaved,
    /// One row after the other: lanes run along a row.
    Apart,
}

impl Rows {
    /// For the note.
    pub fn words(self) -> &'static str {
        match self {
            Self::Interleaved => "",
            Self::Apart => " apart",
        }
    }
}

/// The filled-in template.
pub struct Block<'a, 't> {
    /// The source.
    pub code: &'a Code,
    /// The loop.
    pub outer: &'a Loop<'t>,
    /// Names that get one element a turn.
    pub varying: BTreeSet<String>,
    /// Those of them that are pointers.
    pub pointers: BTreeSet<String>,
    /// Parameters that become local rows.
    pub buffers: BTreeSet<String>,
    /// Layout of the rows.
    pub rows: Rows,
    /// Name: the turn's counter by place in the block.
    pub at: String,
    /// Name: place in the block.
    pub turn: String,
    /// Name: first turn of the block.
    pub first: String,
    /// Name of the block's size.
    pub size: String,
}

/// Everything that replaces the loop; none when a part of it has no block form.
pub fn write(block: &Block<'_, '_>) -> Option<String> {
    let (code, outer) = (block.code, block.outer);
    let (kind, end) = (counter(block), outer.end(code));
    let (first, size, at, turn) = (&block.first, &block.size, &block.at, &block.turn);
    let mut out = format!("for ({kind} {first} = {}; {first} < {end}; {first} += {size}) {{\n", outer.low);
    let _ = writeln!(out, "{kind} {at}[{size}];");
    let _ = writeln!(
        out,
        "for ({kind} {turn} = 0; {turn} < {size}; {turn}++) {at}[{turn}] = {first} + {turn} < {end} ? {first} + {turn} : {end} - 1;"
    );
    for buffer in &block.buffers {
        let _ = writeln!(out, "_Alignas(64) float {buffer}_rows[{end} * {size}];");
    }
    let mut masked = false;
    for statement in &outer.statements {
        out.push_str(&group(block, *statement, &mut masked)?);
    }
    out.push_str("}\n");
    Some(out)
}

fn counter<'a>(block: &'a Block<'_, '_>) -> &'a str {
    if block.outer.kind.is_empty() { "int64_t" } else { &block.outer.kind }
}

fn for_turns(block: &Block<'_, '_>, body: &str) -> String {
    let (kind, turn, size) = (counter(block), &block.turn, &block.size);
    format!("for ({kind} {turn} = 0; {turn} < {size}; {turn}++) {{\n{}\n}}\n", body.trim_end())
}

/// One statement of the body, for the whole block.
fn group(block: &Block<'_, '_>, statement: Node<'_>, masked: &mut bool) -> Option<String> {
    let code = block.code;
    if statement.kind() == "declaration" {
        return declaration(block, statement);
    }
    let Some(inner) = code.counted(statement) else {
        let changed = change(block, statement);
        return Some(for_turns(block, &changed));
    };
    let ragged = depends(block, inner.bound);
    if ragged && code.of(inner.bound) != block.outer.var {
        return None;
    }
    let stores = ragged && !*masked && stores_to_buffer(block, inner.body);
    let mask = if stores { Mask::Stores } else { Mask::No };
    *masked |= stores;
    if ragged && !*masked && block.buffers.is_empty() {
        return None;
    }
    let mut body = String::new();
    for inside in &inner.statements {
        body.push_str(&masked_statement(block, *inside, &inner, mask));
        body.push('\n');
    }
    Some(format!("{} {{\n{}}}\n", header(block, &inner), for_turns(block, &body)))
}

/// A loop's header; one that ends at the turn ends at the block's last turn.
fn header(block: &Block<'_, '_>, inner: &Loop<'_>) -> String {
    if block.code.of(inner.bound) != block.outer.var {
        return inner.header(block.code);
    }
    let (var, step) = (&inner.var, &inner.step);
    let update = if step == "1" { format!("{var}++") } else { format!("{var} += {step}") };
    let (kind, low, operator) = (&inner.kind, &inner.low, inner.operator());
    format!("for ({kind} {var} = {low}; {var} {operator} {}[{} - 1]; {update})", block.at, block.size)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mask {
    No,
    Stores,
}

fn masked_statement(block: &Block<'_, '_>, statement: Node<'_>, inner: &Loop<'_>, mask: Mask) -> String {
    let store = (mask == Mask::Stores).then(|| stored(block, statement)).flatten();
    let Some((left, right)) = store else { return change(block, statement) };
    format!(
        "{} = {} {} {}[{}] ? {} : -INFINITY;",
        change(block, left),
        inner.var,
        inner.operator(),
        block.at,
        block.turn,
        change(block, right),
    )
}

/// `buffer[..] = value;`
fn stored<'t>(block: &Block<'_, '_>, statement: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
    let assignment = statement.named_child(0).filter(|n| n.kind() == "assignment_expression")?;
    (assignment.child_by_field_name("operator")?.kind() == "=").then_some(())?;
    let left = assignment.child_by_field_name("left").filter(|n| n.kind() == "subscript_expression")?;
    let base = block.code.of(left.child_by_field_name("argument")?);
    block.buffers.contains(base).then_some((left, assignment.child_by_field_name("right")?))
}

fn stores_to_buffer(block: &Block<'_, '_>, body: Node<'_>) -> bool {
    block.code.all(body, "expression_statement").into_iter().any(|n| stored(block, n).is_some())
}

fn depends(block: &Block<'_, '_>, node: Node<'_>) -> bool {
    block.code.mentions(node, &block.outer.var) || block.varying.iter().any(|name| block.code.mentions(node, name))
}

/// `T x = value;` becomes `T x[size]` and a loop that fills it.
fn declaration(block: &Block<'_, '_>, statement: Node<'_>) -> Option<String> {
    let code = block.code;
    let name = declared_name(code, statement)?;
    if !block.varying.contains(&name) {
        return Some(format!("{}\n", code.of(statement)));
    }
    let kind = code.of(statement.child_by_field_name("type")?);
    let size = &block.size;
    let declarator = statement.child_by_field_name("declarator")?;
    if declarator.kind() == "array_declarator" {
        let extent = code.of(declarator.child_by_field_name("size")?);
        return Some(format!("_Alignas(64) {kind} {name}[{size}][{extent}];\n"));
    }
    let pointer = block.pointers.contains(&name);
    let constant = pointer && code.of(statement).trim_start().starts_with("const");
    let (qualifier, star) = (if constant { "const " } else { "" }, if pointer { "*" } else { "" });
    let mut out = format!("{qualifier}{kind} {star}{name}[{size}];\n");
    if let Some(value) = declarator.child_by_field_name("value") {
        let fill = format!("{name}[{}] = {};", block.turn, change(block, value));
        out.push_str(&for_turns(block, &fill));
    }
    Some(out)
}

/// The text of a node for one place in the block.
fn change(block: &Block<'_, '_>, node: Node<'_>) -> String {
    let code = block.code;
    render(code, node, &|n| match n.kind() {
        "for_statement" => {
            let inner = code.counted(n)?;
            let own = code.of(inner.bound) == block.outer.var;
            own.then(|| format!("{} {}", header(block, &inner), change(block, inner.body)))
        }
        "identifier" if code.of(n) == block.outer.var => Some(format!("{}[{}]", block.at, block.turn)),
        "identifier" if block.varying.contains(code.of(n)) => Some(format!("{}[{}]", code.of(n), block.turn)),
        "subscript_expression" => {
            let base = code.of(n.child_by_field_name("argument")?);
            block.buffers.contains(base).then_some(())?;
            let index = change(block, n.child_by_field_name("index")?);
            let simple = index.chars().all(|c| c.is_alphanumeric() || c == '_');
            let index = if simple { index } else { format!("({index})") };
            let end = block.outer.end(code);
            Some(match block.rows {
                Rows::Interleaved => format!("{base}_rows[{index} * {} + {}]", block.size, block.turn),
                Rows::Apart => format!("{base}_rows[{} * {end} + {index}]", block.turn),
            })
        }
        _ => None,
    })
}
