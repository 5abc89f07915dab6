//! A block of turns of an outer loop at once: each statement of the body is done for the whole block before the next.
//!
//! What belongs to one turn becomes an array with one element a turn. Inner loops whose end depends on the turn
//! (`j <= i`) run to the block's last one; what is stored too much is set to -INFINITY, which neither a maximum nor a
//! sum of exponentials sees. That this holds for the code at hand is the judge's to say.

use super::Offer;
use super::row_block_text::{Block, Rows, write};
use crate::proposers::embedded::rewrite::{Patch, with_prelude};
use crate::proposers::embedded::syntax::{Code, Loop, children};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// One vector of lanes and its multiples first.
const SIZES: &[&[i64]] = &[&[16, 32, 64], &[8]];

/// Every loop that can be blocked, at every size and layout.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for outer in code.loops() {
        let inner: Vec<Loop<'_>> = outer.statements.iter().filter_map(|n| code.counted(*n)).collect();
        // Without a nest inside, a block would share nothing between its turns.
        let shares = inner.len() >= 2 && inner.iter().any(|l| !l.is_innermost(code));
        if !shares || outer.step != "1" || !declared_plainly(&outer) {
            continue;
        }
        for sizes in SIZES {
            for rows in [Rows::Interleaved, Rows::Apart] {
                found.extend(sizes.iter().filter_map(|size| offer(code, &outer, *size, rows)));
            }
        }
    }
    found
}

fn offer(code: &Code, outer: &Loop<'_>, size: i64, rows: Rows) -> Option<Offer> {
    let (varying, pointers) = varying(code, outer);
    let buffers = buffers(code, outer);
    if rows == Rows::Apart && buffers.is_empty() {
        return None;
    }
    let constant = code.fresh(&format!("BLOCK_{}", outer.var.to_uppercase()));
    let block = Block {
        code,
        outer,
        varying,
        pointers,
        buffers,
        rows,
        at: code.fresh(&format!("{}_at", outer.var)),
        turn: code.fresh(&format!("{}r", outer.var)),
        first: code.fresh(&format!("{}0", outer.var)),
        size: constant.clone(),
    };
    let text = Patch::replace(code.span(outer.node), write(&block)?.trim_end()).apply(code);
    let declared = format!("enum {{ {constant} = {size} }};\n");
    let what = format!("{} by {size}{}", outer.var, rows.words());
    Some(Offer::text(code, code.line(outer.node), what, with_prelude(&text, &declared, &declared)))
}

/// Declarations of one name each, so that they can be widened.
fn declared_plainly(outer: &Loop<'_>) -> bool {
    outer.statements.iter().filter(|n| n.kind() == "declaration").all(|n| {
        let mut cursor = n.walk();
        n.children_by_field_name("declarator", &mut cursor).count() == 1
    })
}

/// Names declared in the body whose value depends on the turn; those that are pointers apart.
fn varying(code: &Code, outer: &Loop<'_>) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut varying = BTreeSet::new();
    let mut pointers = BTreeSet::new();
    for declaration in outer.statements.iter().filter(|n| n.kind() == "declaration") {
        let Some(name) = declared_name(code, *declaration) else { continue };
        let constant = children(*declaration).iter().any(|n| n.kind() == "type_qualifier" && code.of(*n) == "const");
        let depends = code.mentions(*declaration, &outer.var)
            || varying.iter().any(|other: &String| code.mentions(*declaration, other));
        let is_pointer = !code.all(*declaration, "pointer_declarator").is_empty();
        if depends || !constant && !is_pointer {
            if is_pointer {
                pointers.insert(name.clone());
            }
            varying.insert(name);
        }
    }
    (varying, pointers)
}

/// The name that a declaration declares.
pub fn declared_name(code: &Code, declaration: Node<'_>) -> Option<String> {
    let mut at = declaration.child_by_field_name("declarator")?;
    while at.kind() != "identifier" {
        at = at.child_by_field_name("declarator")?;
    }
    Some(code.of(at).to_owned())
}

/// Parameters that the body both writes and reads without the turn in the index: private rows in the making.
fn buffers(code: &Code, outer: &Loop<'_>) -> BTreeSet<String> {
    let Some(function) = code.function(outer.node) else { return BTreeSet::new() };
    let candidates = code.pointers(function).into_iter().filter(|(_, _, constant)| !constant).map(|(_, name, _)| name);
    candidates
        .filter(|name| {
            let uses: Vec<Node<'_>> = code
                .all(outer.body, "subscript_expression")
                .into_iter()
                .filter(|n| n.child_by_field_name("argument").is_some_and(|base| code.of(base) == name))
                .collect();
            let written = uses.iter().filter(|n| is_written(**n)).count();
            written > 0 && written < uses.len() && uses.iter().all(|n| !code.mentions(*n, &outer.var))
        })
        .collect()
}

fn is_written(access: Node<'_>) -> bool {
    access.parent().is_some_and(|parent| {
        parent.kind() == "assignment_expression" && parent.child_by_field_name("left") == Some(access)
    })
}
