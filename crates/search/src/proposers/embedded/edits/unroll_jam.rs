//! Several turns of a loop at once, with the loops inside it shared: more independent work for each load.
//!
//! Relies on the turns not depending on each other in another order than as written; the judge says.

use super::Offer;
use crate::proposers::embedded::rewrite::{Patch, render};
use crate::proposers::embedded::syntax::{Code, Loop, statements};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tree_sitter::Node;

const FACTORS: &[i64] = &[4, 2, 8];

/// Every loop of step 1 around another whose header doesn't depend on it.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for outer in code.loops() {
        let shares = shareable(code, &outer.statements).iter().any(|inner| can_share(code, &outer, inner));
        if outer.kind.is_empty() || outer.step != "1" || !shares || overwrites(code, &outer) {
            continue;
        }
        let trip = code.trip(&outer);
        for factor in FACTORS.iter().filter(|factor| trip.is_none_or(|trip| **factor <= trip)) {
            let text = Patch::replace(code.span(outer.node), write(code, &outer, *factor)).apply(code);
            let what = format!("{} by {factor}", outer.var);
            found.push(Offer::text(code, code.line(outer.node), what, text));
        }
    }
    found
}

/// Whether every turn stores to the same elements of something that lives outside: turns then can't be mixed.
fn overwrites(code: &Code, outer: &Loop<'_>) -> bool {
    let own = jammed_locals(code, outer, &outer.statements);
    code.all(outer.body, "assignment_expression").into_iter().any(|n| {
        let plain = n.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "=");
        let target = n.child_by_field_name("left").filter(|left| left.kind() == "subscript_expression");
        let Some(target) = target.filter(|_| plain) else { return false };
        let by_turn = own.iter().chain([&outer.var]).any(|name| code.mentions(target, name));
        !by_turn && !declared_inside(code, outer, target)
    })
}

/// Whether what an access reaches is declared somewhere in the body.
fn declared_inside(code: &Code, outer: &Loop<'_>, access: Node<'_>) -> bool {
    let base = code.all(access, "identifier").first().map_or("", |n| code.of(*n));
    let mut declarations = code.all(outer.body, "declaration").into_iter();
    declarations.any(|n| locals(code, &[n]).contains(base))
}

/// The loops among statements, and in blocks that stand among them.
fn shareable<'t>(code: &Code, nodes: &[Node<'t>]) -> Vec<Loop<'t>> {
    let mut found = Vec::new();
    for node in nodes {
        if node.kind() == "compound_statement" {
            found.extend(shareable(code, &statements(*node)));
        }
        found.extend(code.counted(*node));
    }
    found
}

fn can_share(code: &Code, outer: &Loop<'_>, inner: &Loop<'_>) -> bool {
    !inner.header_mentions(code, &outer.var)
        && !locals(code, &outer.statements).iter().any(|name| inner.header_mentions(code, name))
}

fn write(code: &Code, outer: &Loop<'_>, factor: i64) -> String {
    let (var, low, end) = (&outer.var, &outer.low, outer.end(code));
    let kind = &outer.kind;
    let whole = outer.whole_end(code, factor);
    let mut out = format!("{{\nfor ({kind} {var} = {low}; {var} < {whole}; {var} += {factor}) {{\n");
    let names = jammed_locals(code, outer, &outer.statements);
    Jam { code, outer, names, factor }.emit(&outer.statements, &mut out);
    out.push_str("}\n");
    if whole != end {
        let _ = writeln!(out, "for ({kind} {var} = {whole}; {var} < {end}; {var}++) {}", code.of(outer.body));
    }
    out.push('}');
    out
}

/// What the repeated text depends on.
struct Jam<'a, 't> {
    code: &'a Code,
    outer: &'a Loop<'t>,
    names: BTreeSet<String>,
    factor: i64,
}

impl Jam<'_, '_> {
    /// Statements for all turns: loops that can be are shared, the rest is repeated turn by turn.
    fn emit(&self, nodes: &[Node<'_>], out: &mut String) {
        for node in nodes {
            if let Some(inner) = self.shared(*node) {
                let _ = writeln!(out, "{}{} {{", self.code.pragmas(*node), inner.header(self.code));
                self.emit(&inner.statements, out);
                out.push_str("}\n");
            } else if node.kind() == "compound_statement" {
                out.push_str("{\n");
                self.emit(&statements(*node), out);
                out.push_str("}\n");
            } else {
                for turn in 0..self.factor {
                    let _ = writeln!(out, "{}", self.repeated(*node, turn));
                }
            }
        }
    }

    fn shared<'t>(&self, node: Node<'t>) -> Option<Loop<'t>> {
        let inner = self.code.counted(node)?;
        let depends = inner.header_mentions(self.code, &self.outer.var)
            || self.names.iter().any(|name| inner.header_mentions(self.code, name));
        (!depends).then_some(inner)
    }

    fn repeated(&self, node: Node<'_>, turn: i64) -> String {
        let text = render(self.code, node, &|n| {
            (n.kind() == "identifier").then_some(())?;
            let name = self.code.of(n);
            if name == self.outer.var {
                return Some(if turn == 0 { name.to_owned() } else { format!("({name} + {turn})") });
            }
            self.names.contains(name).then(|| format!("{name}_{turn}"))
        });
        format!("{}{text}", self.code.pragmas(node))
    }
}

/// Names declared where statements are repeated into one scope: here and in shared loops.
fn jammed_locals(code: &Code, outer: &Loop<'_>, nodes: &[Node<'_>]) -> BTreeSet<String> {
    let mut names = locals(code, nodes);
    for node in nodes {
        if let Some(inner) = code.counted(*node)
            && !inner.header_mentions(code, &outer.var)
        {
            names.extend(jammed_locals(code, outer, &statements(inner.body)));
        } else if node.kind() == "compound_statement" {
            names.extend(jammed_locals(code, outer, &statements(*node)));
        }
    }
    names
}

fn locals(code: &Code, nodes: &[Node<'_>]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for declaration in nodes.iter().filter(|n| n.kind() == "declaration") {
        let mut cursor = declaration.walk();
        for declarator in declaration.children_by_field_name("declarator", &mut cursor) {
            let mut at = Some(declarator);
            while let Some(node) = at.filter(|n| n.kind() != "identifier") {
                at = node.child_by_field_name("declarator");
            }
            names.extend(at.map(|n| code.of(n).to_owned()));
        }
    }
    names
}
