//! Arithmetic over a problem's constants and axes: `heads_q * len * (len + 1) / 2`.
//!
//! Must not know what an expression is for; positions and advice belong to the caller.

use exmex::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The value of every name that an expression may use.
pub(crate) type Scope = BTreeMap<String, f64>;

/// A parsed expression whose names are all known.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    // Shared, since the parsed form is tens of kilobytes held in place: by value, a debug build outgrows its stack.
    parsed: Arc<FlatEx<f64>>,
}

impl Expression {
    /// Parses `text`; every name in it must be in `known`.
    ///
    /// # Errors
    /// A sentence: what the parser said, or which name is unknown and which are known.
    pub(crate) fn parse(text: &str, known: &Scope) -> Result<Self, String> {
        let parsed =
            exmex::parse::<f64>(text).map(Arc::new).map_err(|e| format!("`{text}` is not an expression: {e}"))?;
        if let Some(name) = parsed.var_names().iter().find(|name| !known.contains_key(*name)) {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(format!("`{name}` is neither a constant nor an axis; known: {}", names.join(", ")));
        }
        Ok(Self { text: text.to_owned(), parsed })
    }

    /// Its value, in whatever unit the expression counts.
    pub(crate) fn evaluate(&self, scope: &Scope) -> f64 {
        let values: Vec<f64> =
            self.parsed.var_names().iter().map(|name| scope.get(name).copied().unwrap_or(f64::NAN)).collect();
        self.parsed.eval(&values).unwrap_or(f64::NAN)
    }

    /// Its value as a count of things: a whole number of at least 1.
    ///
    /// # Errors
    /// The value, when it is no such count.
    pub(crate) fn count(&self, scope: &Scope) -> Result<usize, f64> {
        let value = self.evaluate(scope);
        // 2^53: beyond it f64 skips whole numbers.
        if value >= 1.0 && value.fract() == 0.0 && value <= 9_007_199_254_740_992.0 {
            Ok(value as usize)
        } else {
            Err(value)
        }
    }

    /// The text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Whether `name` can be used in expressions and as a C identifier.
pub(crate) fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    let goes_on = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    // `exp`, `min`, `e`, ... belong to the expression language.
    starts && goes_on && exmex::parse::<f64>(name).is_ok_and(|e| e.var_names() == [name.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        [("heads_q", 16.0), ("len", 333.0)].map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[test]
    fn values() {
        let check = |text: &str, expected: f64| {
            assert_eq!(Expression::parse(text, &scope()).unwrap().evaluate(&scope()), expected, "{text}");
        };
        check("heads_q * len", 5328.0);
        check("heads_q * len * (len + 1) / 2", 889_776.0);
        check("len - heads_q * 2", 301.0);
        check("2 ^ 10", 1024.0);
        check("64", 64.0);
        check("max(len, 512)", 512.0);
    }

    #[test]
    fn mistakes() {
        let check = |text: &str, expected: &str| {
            let error = Expression::parse(text, &scope()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("heads_q * length", "`length` is neither a constant nor an axis; known: heads_q, len");
        check("heads_q *", "is not an expression");
        check("", "is not an expression");
    }

    #[test]
    fn counts() {
        let check = |text: &str, expected: Result<usize, ()>| {
            assert_eq!(Expression::parse(text, &scope()).unwrap().count(&scope()).map_err(drop), expected, "{text}");
        };
        check("len", Ok(333));
        check("len / 2", Err(()));
        check("len - 333", Err(()));
        check("0 / 0", Err(()));
        check("2 ^ 80", Err(()));
    }

    #[test]
    fn names() {
        let check = |name: &str, expected: bool| assert_eq!(is_name(name), expected, "{name}");
        check("len", true);
        check("heads_q", true);
        check("m", true);
        check("exp", false);
        check("e", false);
        check("min", false);
        check("Len", false);
        check("2d", false);
        check("a-b", false);
        check("", false);
    }
}
