//! What a problem says of special values, and the families of inputs that candidates stand beside the declared draw.
//!
//! Must not look at answers: it shapes inputs and names rules.

use crate::problem::{Dtype, Problem, Role};
use model::{Workload, bf16};
use serde::Deserialize;
use std::fmt;

/// `[numerics]` of a problem. Left out, it is what follows from the declared draw alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Numerics {
    /// Families of inputs that `verify` tries beside the declared draw.
    pub families: Vec<Family>,
    /// NaN among inputs and outputs.
    pub nan: NotFinite,
    /// Infinity among inputs and outputs.
    pub infinity: NotFinite,
    /// The sign of a zero in the output.
    pub signed_zero: SignedZero,
    /// Denormals in the output.
    pub denormals: Denormals,
    /// The same call on the same inputs.
    pub repeat: Repeat,
}

/// Rule for values that are no numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotFinite {
    /// Never among the inputs; wrong in the output.
    #[default]
    Excluded,
}

/// Rule for the sign of a zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignedZero {
    /// Either will do.
    #[default]
    Ignored,
}

/// Rule for denormal outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denormals {
    /// Zero will do instead: the tolerance never falls below the smallest normal f32.
    #[default]
    MayFlush,
    /// They count like any number.
    Kept,
}

impl Denormals {
    /// What every element may be off by, whatever its row's scale.
    pub(crate) fn absolute(self) -> f64 {
        match self {
            Self::MayFlush => f64::from(f32::MIN_POSITIVE),
            // Half a step below the smallest normal.
            Self::Kept => f64::from(f32::from_bits(1)),
        }
    }
}

/// Rule for repeated calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repeat {
    /// The same bits: one core, no random numbers, nothing left over from the call before.
    #[default]
    BitEqual,
    /// Both within the tolerance.
    WithinTolerance,
}

/// A family of inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// The problem's own draw.
    #[default]
    Declared,
    /// A thousandth of it.
    Small,
    /// A thousand times it.
    Large,
    /// Far from zero: 16 more.
    Shifted,
    /// Every row holds one value.
    ConstantRows,
    /// One element in sixteen is not zero.
    Sparse,
    /// Neighbours that nearly cancel: sums lose what careless orders of summation keep.
    Cancelling,
    /// Around the smallest normal f32.
    Denormal,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Declared => "declared",
            Self::Small => "small",
            Self::Large => "large",
            Self::Shifted => "shifted",
            Self::ConstantRows => "constant-rows",
            Self::Sparse => "sparse",
            Self::Cancelling => "cancelling",
            Self::Denormal => "denormal",
        })
    }
}

impl Problem {
    /// Fills `out` with input `argument` of a family. Weights keep their declared draw: families are what callers bring.
    ///
    /// # Panics
    /// As [`Problem::draw`].
    pub fn draw_as(&self, family: Family, (argument, workload): (usize, &Workload), key: u64, out: &mut [u8]) {
        self.draw(argument, key, out);
        let target = &self.arguments[argument];
        if family == Family::Declared || target.role != Role::Activation {
            return;
        }
        let scope = self.scope(workload);
        let row = target.shape.last().and_then(|last| last.count(&scope).ok()).unwrap_or(1);
        match target.dtype {
            Dtype::F32 => bend((family, row), out.as_chunks_mut().0, (f32::from_ne_bytes, f32::to_ne_bytes)),
            Dtype::Bf16 => bend((family, row), out.as_chunks_mut().0, (bf16::widened, bf16::nearest)),
            Dtype::F64 | Dtype::I32 => {}
        }
    }
}

/// How an element is read and written.
type Element<const SIZE: usize> = (fn([u8; SIZE]) -> f32, fn(f32) -> [u8; SIZE]);

/// Turns the declared draw into a family's. `read` and `write` are the element's.
fn bend<const SIZE: usize>((family, row): (Family, usize), values: &mut [[u8; SIZE]], (read, write): Element<SIZE>) {
    // Neighbours differ by four steps of bf16, or by 1/1024 where the type is finer.
    let apart = if SIZE == 2 { 1.0 / 32.0 } else { 1.0 / 1024.0 };
    let mut first = 0.0;
    for (i, bytes) in values.iter_mut().enumerate() {
        let x = read(*bytes);
        let starts = match family {
            Family::Cancelling => i % 2 == 0,
            _ => i % row == 0,
        };
        if starts {
            first = x;
        }
        let bent = match family {
            Family::Declared => x,
            Family::Small => x * 1e-3,
            Family::Large => x * 1e3,
            Family::Shifted => x + 16.0,
            Family::ConstantRows => first,
            // The top bits of a multiplicative hash of the position: no stride of a kernel falls into step with it.
            Family::Sparse if (i as u32).wrapping_mul(0x9e37_79b1) >> 28 == 0 => x,
            Family::Sparse => 0.0,
            Family::Cancelling if starts => x,
            Family::Cancelling => -first * (1.0 + apart),
            Family::Denormal => x * f32::MIN_POSITIVE,
        };
        *bytes = write(bent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bent(family: Family, row: usize, values: &[f32]) -> Vec<f32> {
        let mut bytes: Vec<[u8; 4]> = values.iter().map(|x| x.to_ne_bytes()).collect();
        bend((family, row), &mut bytes, (f32::from_ne_bytes, f32::to_ne_bytes));
        bytes.into_iter().map(f32::from_ne_bytes).collect()
    }

    #[test]
    fn families() {
        let check =
            |family, expected: [f32; 4]| assert_eq!(bent(family, 2, &[1.0, 2.0, -3.0, 4.0]), expected, "{family}");
        check(Family::Declared, [1.0, 2.0, -3.0, 4.0]);
        check(Family::Small, [1e-3, 2e-3, -3e-3, 4e-3]);
        check(Family::Large, [1e3, 2e3, -3e3, 4e3]);
        check(Family::Shifted, [17.0, 18.0, 13.0, 20.0]);
        check(Family::ConstantRows, [1.0, 1.0, -3.0, -3.0]);
        check(Family::Cancelling, [1.0, -1.000_976_6, -3.0, 3.002_929_7]);
        let denormal = bent(Family::Denormal, 2, &[0.5, 1.0]);
        assert!(denormal[0].is_subnormal() && denormal[1] == f32::MIN_POSITIVE);
    }

    #[test]
    fn sparse_is_mostly_zero_and_never_all() {
        let values = bent(Family::Sparse, 64, &[1.0; 4096]);
        let kept = values.iter().filter(|x| **x == 1.0).count();
        assert!((200..320).contains(&kept), "{kept} of 4096");
        let longest = values.split(|x| *x == 1.0).map(<[f32]>::len).max();
        assert!(longest.is_some_and(|n| n < 64), "a row of zeros only: {longest:?}");
    }

    #[test]
    fn what_a_problem_may_say() {
        let check = |text: &str, expected: Result<Numerics, &str>| match (toml::from_str::<Numerics>(text), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
        };
        check("", Ok(Numerics::default()));
        let all = Numerics {
            families: vec![Family::Small, Family::ConstantRows],
            denormals: Denormals::Kept,
            repeat: Repeat::WithinTolerance,
            ..Numerics::default()
        };
        check(
            "families = [\"small\", \"constant-rows\"]\ndenormals = \"kept\"\nrepeat = \"within-tolerance\"\nnan = \"excluded\"",
            Ok(all),
        );
        check("nan = \"propagates\"", Err("excluded"));
        check("families = [\"huge\"]", Err("huge"));
        check("rounding = \"up\"", Err("rounding"));
    }
}
