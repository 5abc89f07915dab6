//! Whole-number arithmetic over axes: `hidden // heads`, `2 * m + 1`.
//!
//! Must not accept what the format doesn't: `+ - * / // % **`, brackets, signs, names and numbers.

use std::collections::BTreeMap;

/// The value of `text` where every name has one.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn evaluate(text: &str, names: &BTreeMap<String, i64>) -> Result<i64, String> {
    let mut parser = Parser { rest: text, names, depth: 0 };
    let value = parser.sum()?;
    parser.skip();
    if parser.rest.is_empty() { Ok(value) } else { Err(format!("`{}` is left over in `{text}`", parser.rest)) }
}

struct Parser<'a> {
    rest: &'a str,
    names: &'a BTreeMap<String, i64>,
    depth: u32,
}

/// Brackets and signs at most: nobody writes more, and each is a level of our own stack.
const DEEPEST: u32 = 64;

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        loop {
            value = if self.take("+") {
                checked(value.checked_add(self.product()?))?
            } else if self.take("-") {
                checked(value.checked_sub(self.product()?))?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.power()?;
        loop {
            self.skip();
            value = if self.rest.starts_with("**") {
                return Ok(value);
            } else if self.take("*") {
                checked(value.checked_mul(self.power()?))?
            } else if self.take("//") {
                floored(value, self.power()?)?.0
            } else if self.take("/") {
                let (quotient, rest) = floored(value, self.power()?)?;
                if rest != 0 {
                    return Err("a division that leaves a fraction".to_owned());
                }
                quotient
            } else if self.take("%") {
                floored(value, self.power()?)?.1
            } else {
                return Ok(value);
            };
        }
    }

    fn power(&mut self) -> Result<i64, String> {
        let base = self.unary()?;
        if !self.take("**") {
            return Ok(base);
        }
        let exponent = u32::try_from(self.power()?).map_err(|_| "an exponent below 0".to_owned())?;
        checked(base.checked_pow(exponent))
    }

    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        let value = if self.take("-") {
            checked(self.power()?.checked_neg())
        } else if self.take("+") {
            self.power()
        } else if self.take("(") {
            let value = self.sum()?;
            if self.take(")") { Ok(value) } else { Err("a bracket that isn't closed".to_owned()) }
        } else {
            self.atom()
        };
        self.depth -= 1;
        value
    }

    fn atom(&mut self) -> Result<i64, String> {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Ok(number) = word.parse() {
            return Ok(number);
        }
        self.names.get(word).copied().ok_or_else(|| format!("`{word}` is no axis with a value"))
    }
}

fn checked(value: Option<i64>) -> Result<i64, String> {
    value.ok_or_else(|| "a value beyond 64 bits".to_owned())
}

/// Quotient and remainder as Python has them.
fn floored(a: i64, b: i64) -> Result<(i64, i64), String> {
    let (Some(quotient), Some(rest)) = (a.checked_div(b), a.checked_rem(b)) else {
        return Err("a division by zero".to_owned());
    };
    Ok(if rest != 0 && (rest < 0) != (b < 0) { (quotient - 1, rest + b) } else { (quotient, rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let names: BTreeMap<String, i64> = [("hidden".to_owned(), 4096), ("heads".to_owned(), 32)].into();
        let check = |text: &str, expected: Result<i64, &str>| {
            assert_eq!(evaluate(text, &names), expected.map_err(str::to_owned), "{text}");
        };
        check("hidden // heads", Ok(128));
        check("2 * (hidden + 1) - heads", Ok(8162));
        check("2 ** 3 ** 2", Ok(512));
        check("-7 // 2", Ok(-4));
        check("-7 % 4", Ok(1));
        check("-2 ** 2", Ok(-4));
        check("hidden / heads", Ok(128));
        check("7 / 2", Err("a division that leaves a fraction"));
        check("1 // 0", Err("a division by zero"));
        check("width", Err("`width` is no axis with a value"));
        check("(1", Err("a bracket that isn't closed"));
        check("1 2", Err("`2` is left over in `1 2`"));
        check("9 ** 99", Err("a value beyond 64 bits"));
        check(&"(".repeat(100_000), Err("nested too deeply"));
        check(&"-".repeat(100_000), Err("nested too deeply"));
        check("", Err("`` is no axis with a value"));
    }
}
