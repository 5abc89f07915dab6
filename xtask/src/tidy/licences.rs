//! Licences of everything that is linked, against `deny.toml`'s list; cargo-deny besides, where it is installed.

use crate::workspace::{cargo, on_path, root, run};
use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use serde::Deserialize;

#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

/// Every dependency whose licence is not on the list.
///
/// # Errors
/// When `deny.toml` can't be read.
pub fn check(metadata: &Metadata) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root().join("deny.toml")).context("deny.toml")?;
    let deny: Deny = toml::from_str(&text).context("deny.toml")?;
    let foreign = metadata.packages.iter().filter(|package| package.source.is_some());
    let mut breaches: Vec<String> = foreign
        .filter_map(|package| match package.license.as_deref() {
            Some(licence) if allows(licence, &deny.licenses.allow) => None,
            Some(licence) => Some(format!("{} {} is licensed under {licence}", package.name, package.version)),
            None => Some(format!("{} {} names no licence", package.name, package.version)),
        })
        .collect();
    if on_path("cargo-deny") && run(&mut cargo(&["deny", "check", "licenses", "bans", "sources"])).is_err() {
        breaches.push("cargo-deny found something; see above".into());
    }
    Ok(breaches)
}

/// Whether an SPDX expression can be met with allowed licences alone.
fn allows(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    parser.any() && parser.words.is_empty()
}

struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Parser<'_> {
    fn eat(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }

    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.eat("OR") {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.eat("AND") {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.eat("(") {
            let met = self.any();
            return self.eat(")") && met;
        }
        let Some((&name, rest)) = self.words.split_first() else { return false };
        self.words = rest;
        let mut name = name.to_owned();
        if self.eat("WITH")
            && let Some((exception, rest)) = self.words.split_first()
        {
            name = format!("{name} WITH {exception}");
            self.words = rest;
        }
        self.allowed.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_weighed() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        let check =
            |expression: &str, expected: bool| assert_eq!(allows(expression, &allowed), expected, "{expression}");
        check("MIT", true);
        check("GPL-3.0", false);
        check("MIT OR GPL-3.0", true);
        check("GPL-3.0/MIT", true);
        check("MIT AND GPL-3.0", false);
        check("(MIT OR GPL-3.0) AND Zlib", true);
        check("MIT OR GPL-3.0 AND Zlib", true);
        check("GPL-3.0 AND (MIT OR Zlib)", false);
        check("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true);
        check("Apache-2.0", false);
        check("MIT WITH something", false);
        check("", false);
        check("(MIT", false);
    }
}
