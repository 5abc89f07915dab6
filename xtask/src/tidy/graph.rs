//! Which crate may import which: the real graph against the tables in ARCHITECTURE.md, both ways.

use super::{items, table};
use cargo_metadata::{DependencyKind, Metadata, Package};
use std::collections::{BTreeMap, BTreeSet};

/// One crate's arrows: in the product, and in its tests.
type Arrows = BTreeMap<String, [BTreeSet<String>; 2]>;

/// Every difference, in words.
pub fn check(metadata: &Metadata, architecture: &str) -> Vec<String> {
    let Some(allowed) = allowed(architecture) else {
        return vec!["ARCHITECTURE.md has no table `| crate | may use | in tests |`".into()];
    };
    let mut breaches = differences(&real(metadata), &allowed);
    let Some(rows) = table(architecture, &["dependency", "only in"]) else {
        breaches.push("ARCHITECTURE.md has no table `| dependency | only in |`".into());
        return breaches;
    };
    for row in rows {
        let only: Vec<String> = items(&row[1]);
        for package in metadata.workspace_packages() {
            let name = short(&package.name);
            let uses = package.dependencies.iter().any(|d| d.name == row[0] && d.kind != DependencyKind::Development);
            if uses && !only.contains(&name) {
                breaches.push(format!("`{name}` uses `{}`, which ARCHITECTURE.md keeps to {}", row[0], row[1]));
            }
        }
    }
    breaches
}

/// A crate's name as ARCHITECTURE.md has it.
fn short(package: &str) -> String {
    if package == "rooflab" { "app".into() } else { package.trim_start_matches("rooflab-").into() }
}

fn allowed(architecture: &str) -> Option<Arrows> {
    let rows = table(architecture, &["crate", "may use", "in tests"])?;
    let cell = |row: &[String], i: usize| row.get(i).map(|cell| items(cell).into_iter().collect()).unwrap_or_default();
    Some(rows.iter().map(|row| (row[0].clone(), [cell(row, 1), cell(row, 2)])).collect())
}

fn real(metadata: &Metadata) -> Arrows {
    let packages = metadata.workspace_packages();
    let ours: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let arrows = |package: &Package, tests: bool| -> BTreeSet<String> {
        let kept = package.dependencies.iter().filter(|d| (d.kind == DependencyKind::Development) == tests);
        kept.filter(|d| ours.contains(d.name.as_str())).map(|d| short(&d.name)).collect()
    };
    packages.iter().map(|package| (short(&package.name), [arrows(package, false), arrows(package, true)])).collect()
}

fn differences(real: &Arrows, allowed: &Arrows) -> Vec<String> {
    let mut found = Vec::new();
    for (name, arrows) in real {
        let Some(permitted) = allowed.get(name) else {
            found.push(format!("crate `{name}` has no row in ARCHITECTURE.md"));
            continue;
        };
        for (i, place) in ["", " in its tests"].into_iter().enumerate() {
            for extra in arrows[i].difference(&permitted[i]) {
                found.push(format!("`{name}` uses `{extra}`{place}, which ARCHITECTURE.md does not allow"));
            }
            for unused in permitted[i].difference(&arrows[i]) {
                found
                    .push(format!("ARCHITECTURE.md lets `{name}` use `{unused}`{place}, which it does not: strike it"));
            }
        }
    }
    let gone = allowed.keys().filter(|name| !real.contains_key(*name));
    found.extend(gone.map(|name| format!("ARCHITECTURE.md has a row for `{name}`, which is no crate")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rows: &str) -> Arrows {
        let text = format!("| crate | may use | in tests |\n|---|---|---|\n{rows}\n");
        allowed(&text).expect("a table")
    }

    #[test]
    fn differences_are_named_both_ways() {
        let check = |real: &str, table: &str, expected: &[&str]| {
            assert_eq!(differences(&parse(real), &parse(table)), expected);
        };
        check("| a | b | - |\n| b | - | a |", "| a | b | - |\n| b | - | a |", &[]);
        check("| a | b | - |", "| a | - | - |", &["`a` uses `b`, which ARCHITECTURE.md does not allow"]);
        check("| a | - | b |", "| a | - | - |", &["`a` uses `b` in its tests, which ARCHITECTURE.md does not allow"]);
        check("| a | - | - |", "| a | b | - |", &["ARCHITECTURE.md lets `a` use `b`, which it does not: strike it"]);
        let missing =
            ["crate `a` has no row in ARCHITECTURE.md", "ARCHITECTURE.md has a row for `c`, which is no crate"];
        check("| a | - | - |", "| c | - | - |", &missing);
    }
}
