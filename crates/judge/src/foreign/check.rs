//! Holds an output against the reference's, element by element.
//!
//! Must not let a NaN pass: every comparison is written so that it fails one.

use ::foreign::traces::Errors;
use ::foreign::{Bound, Tensor};
use model::{Rule, Stage, Verdict};

/// A secret pattern of 8 bytes. Each 16-bit piece is a NaN of its own as f16 and as bfloat16, and so is each pair of
/// them as f32: no honest arithmetic gives such payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poison([u8; 8]);

/// What one output's check found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Largest errors.
    pub errors: Errors,
    /// Largest error as a share of the bound.
    pub worst: f64,
    /// Elements compared.
    pub elements: u64,
}

impl Poison {
    /// From the judge's coins.
    pub fn new(coins: u64) -> Self {
        let mut bytes = [0; 8];
        for (i, piece) in bytes.chunks_exact_mut(2).enumerate() {
            let coins = (coins >> (16 * i)) as u16;
            piece.copy_from_slice(&(0x7f81 | (coins & 0x807e)).to_ne_bytes());
        }
        Self(bytes)
    }

    /// Fills a buffer.
    pub fn fill(self, out: &mut [u8]) {
        for (place, byte) in out.iter_mut().zip(self.0.iter().cycle()) {
            *place = *byte;
        }
    }

    /// Word number `i` of a buffer that was filled.
    pub fn word(self, i: usize) -> u32 {
        let half = if i.is_multiple_of(2) { 0 } else { 4 };
        u32::from_ne_bytes([0, 1, 2, 3].map(|byte| self.0[half + byte]))
    }

    /// Whether all of it is as it was filled.
    pub fn is_whole(self, bytes: &[u8]) -> bool {
        bytes.iter().zip(self.0.iter().cycle()).all(|(a, b)| a == b)
    }

    /// Whether the element at this byte is as it was filled. One byte alone proves nothing.
    fn holds(self, at: usize, element: &[u8]) -> bool {
        element.len() > 1 && element.iter().enumerate().all(|(i, byte)| *byte == self.0[(at + i) % 8])
    }
}

impl Found {
    /// Adds what another check found.
    pub fn add(&mut self, other: Self) {
        self.errors.absolute = self.errors.absolute.max(other.errors.absolute);
        self.errors.relative = self.errors.relative.max(other.errors.relative);
        self.worst = self.worst.max(other.worst);
        self.elements += other.elements;
    }
}

/// Compares `got` with `want`. The found is there for a wrong output too.
pub fn compare(
    tensor: &Tensor,
    bound: Bound,
    poison: Poison,
    (got, want): (&[u8], &[u8]),
) -> (Found, Result<(), Verdict>) {
    let size = tensor.dtype.size();
    let mut found = Found::default();
    let mut outside = 0_u64;
    let mut first = None;
    for (i, (a, b)) in got.chunks_exact(size).zip(want.chunks_exact(size)).enumerate() {
        found.elements += 1;
        if a != b && poison.holds(i * size, a) {
            let detail = format!("element {i} of `{}` was left as it was before the call", tensor.name);
            return (found, Err(Verdict::Refused { rule: Rule::UnwrittenOutput, detail }));
        }
        let (x, y) = (tensor.dtype.read(a), tensor.dtype.read(b));
        // The same infinity is right where the reference says so.
        if x == y {
            continue;
        }
        let error = (x - y).abs();
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let allowed = bound.absolute + bound.relative * y.abs();
        found.errors.absolute = found.errors.absolute.max(error);
        found.errors.relative = found.errors.relative.max(error / y.abs().max(bound.absolute).max(f64::MIN_POSITIVE));
        found.worst = found.worst.max(error / allowed.max(f64::MIN_POSITIVE));
        if !(error <= allowed && error.is_finite()) {
            outside += 1;
            first.get_or_insert((i, x, y));
        }
    }
    let matched = 1.0 - outside as f64 / found.elements.max(1) as f64;
    match first {
        Some((i, x, y)) if matched < bound.share => {
            let cause = format!(
                "element {i} of `{}` is {x} where the reference gives {y}; {outside} of {} elements are outside the \
                 bound",
                tensor.name, found.elements
            );
            (found, Err(Verdict::Failed { stage: Stage::Invalid, cause }))
        }
        _ => (found, Ok(())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::foreign::Dtype;

    fn bytes(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect()
    }

    fn tensor(n: usize) -> Tensor {
        Tensor { name: "y".into(), dtype: Dtype::F32, shape: vec![n] }
    }

    #[test]
    fn right_and_wrong() {
        let check = |got: &[f64], want: &[f64], share: f64, is_right: bool| {
            let bound = Bound { share, ..Bound::default() };
            let poison = Poison::new(1);
            let (_, result) = compare(&tensor(got.len()), bound, poison, (&bytes(got), &bytes(want)));
            assert_eq!(result.is_ok(), is_right, "{got:?} for {want:?}: {result:?}");
        };
        check(&[1.0, 2.0], &[1.0, 2.0], 1.0, true);
        check(&[1.015, 2.0], &[1.0, 2.0], 1.0, true);
        check(&[1.03, 2.0], &[1.0, 2.0], 1.0, false);
        check(&[1.03, 2.0], &[1.0, 2.0], 0.5, true);
        check(&[f64::NAN, 2.0], &[1.0, 2.0], 1.0, false);
        check(&[f64::NAN], &[f64::NAN], 1.0, false);
        check(&[f64::INFINITY], &[1.0], 1.0, false);
        check(&[f64::NEG_INFINITY], &[f64::NEG_INFINITY], 1.0, true);
        check(&[f64::INFINITY], &[f64::NEG_INFINITY], 1.0, false);
        check(&[1.0], &[f64::INFINITY], 1.0, false);
    }

    #[test]
    fn poison_shows_in_every_type() {
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I64, Dtype::I32, Dtype::I16] {
            let tensor = Tensor { name: "y".into(), dtype, shape: vec![8] };
            let poison = Poison::new(0xdead_beef_1234_5678);
            let want = vec![0; tensor.bytes()];
            let mut got = vec![0; tensor.bytes()];
            poison.fill(&mut got);
            got[..dtype.size()].fill(0);
            let (_, result) = compare(&tensor, Bound::default(), poison, (&got, &want));
            let Err(Verdict::Refused { rule: Rule::UnwrittenOutput, detail }) = result else {
                panic!("{dtype:?}: {result:?}")
            };
            assert!(detail.contains("element 1 "), "{detail}");
        }
    }

    #[test]
    fn words_are_those_of_a_filled_buffer() {
        let poison = Poison::new(0x0123_4567_89ab_cdef);
        let mut filled = [0; 20];
        poison.fill(&mut filled);
        let words: Vec<u32> = filled.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [0, 1, 2, 3, 4].map(|i| poison.word(i)));
    }

    #[test]
    fn every_piece_of_the_poison_is_a_nan() {
        for coins in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
            let Poison(bytes) = Poison::new(coins);
            for piece in bytes.chunks_exact(2) {
                assert!(Dtype::F16.read(piece).is_nan() && Dtype::Bf16.read(piece).is_nan(), "{bytes:?}");
            }
            for pair in bytes.chunks_exact(4) {
                assert!(Dtype::F32.read(pair).is_nan(), "{bytes:?}");
            }
        }
    }
}
