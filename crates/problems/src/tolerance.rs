//! How wrong an answer may be: a factor over what the oracle itself gets wrong at the problem's type.
//!
//! Must not look at how an answer was made. NaN and infinity never pass.

use crate::trivial::Sample;
use crate::workload::SplitMix;
use crate::{Family, Oracle, Problem, ProblemError};
use model::Workload;
use std::fmt;

/// What one workload's output may be off by, relative to the root mean square (rms) of its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Largest error of an element, over its row's rms.
    pub element: f64,
    /// Rms of a row's error, over its rms. Smaller than `element`: a row can't be off everywhere.
    pub row: f64,
    /// Added to both, for rows of zeros: far below every normal f32.
    pub absolute: f64,
    /// Elements of a row.
    pub row_length: usize,
}

/// Draws of inputs and rows of each that a tolerance is derived from. Over 12 seeds the largest tolerance of a shipped
/// workload is 1.3 to 2.3 times the smallest: far inside the factor's margin on either side.
const DRAWS: usize = 4;
const ROWS_A_DRAW: usize = 16;

impl Tolerance {
    /// Derives the tolerance at `workload` from the oracle's error, by the problem's rule, on inputs drawn from `seed`.
    ///
    /// # Errors
    /// When the oracle's answer isn't finite, or, at a shape that is not an edge, a trivial answer would pass
    /// ([`crate::refuse_trivial`]).
    pub fn derive(problem: &Problem, oracle: &Oracle, workload: &Workload, seed: u64) -> Result<Self, ProblemError> {
        let mut coins = SplitMix(seed);
        let tolerance = Self::derive_as(problem, oracle, (workload, Family::Declared), coins.next())?;
        // At an edge the op may really be trivial: attention over one key copies a value.
        if !problem.edges().contains(workload) {
            crate::refuse_trivial(problem, oracle, workload, &tolerance, coins.next())?;
        }
        Ok(tolerance)
    }

    /// The same on inputs of a family, on which an answer may well be trivial.
    ///
    /// # Errors
    /// When the oracle's answer isn't finite.
    pub fn derive_as(
        problem: &Problem,
        oracle: &Oracle,
        (workload, family): (&Workload, Family),
        seed: u64,
    ) -> Result<Self, ProblemError> {
        let row_length = problem.row_length(workload);
        let mut coins = SplitMix(seed);
        let mut worst = Deviation { element: HALF_STEP, row: HALF_STEP };
        for _ in 0..DRAWS {
            let sample = Sample::draw(problem, (workload, family), coins.next(), ROWS_A_DRAW);
            let (want, rough) = (sample.want(oracle)?, sample.rough(oracle, coins.next()));
            for (want, rough) in want.chunks_exact(row_length).zip(rough.chunks_exact(row_length)) {
                let deviation = Deviation::of(want, rough.iter().copied());
                worst = Deviation { element: worst.element.max(deviation.element), row: worst.row.max(deviation.row) };
            }
        }
        Ok(Self {
            element: problem.factor * worst.element,
            row: problem.factor * worst.row,
            absolute: problem.numerics.denormals.absolute(),
            row_length,
        })
    }
}

/// Half a step of f32 at 1: an op whose f32 answer is exact is still allowed a rounding.
const HALF_STEP: f64 = 1.0 / 16_777_216.0;

/// Errors of one row, relative to its rms.
struct Deviation {
    element: f64,
    row: f64,
}

impl Deviation {
    /// Zero for a row of zeros, whose scale says nothing.
    fn of(want: &[f64], got: impl Iterator<Item = f32>) -> Self {
        let scale = rms(want.iter().copied());
        if scale == 0.0 {
            return Self { element: 0.0, row: 0.0 };
        }
        let errors: Vec<f64> = want.iter().zip(got).map(|(want, got)| (f64::from(got) - want).abs()).collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        Self { element: largest / scale, row: rms(errors.into_iter()) / scale }
    }
}

fn rms(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    (values.map(|x| x * x).sum::<f64>() / n).sqrt()
}

/// What checking some rows found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// The largest error, as a share of what is allowed: above 1 is wrong. Infinite for NaN and infinity.
    pub worst: f64,
    /// The first row that is wrong.
    pub failure: Option<Mismatch>,
}

/// A wrong row, shown by its worst element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// The row's number.
    pub row: i64,
    /// The element within the row.
    pub element: usize,
    /// What the candidate wrote.
    pub got: f32,
    /// What is right.
    pub want: f64,
    /// What the element may be off by, or the row's rms error where the element alone would pass.
    pub limit: f64,
    /// Which of the two was exceeded.
    pub bound: Bound,
}

/// Which bound an answer exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// One element's.
    Element,
    /// The whole row's.
    Row,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, element, got, want, limit, bound } = self;
        let off = (f64::from(*got) - want).abs();
        match bound {
            Bound::Element => {
                write!(
                    f,
                    "row {row}, element {element}: got {got:e}, want {want:e}, off by {off:.1e}, {limit:.1e} allowed"
                )
            }
            Bound::Row => write!(
                f,
                "row {row} is off by more than {limit:.1e} (rms); element {element}, its worst: got {got:e}, want {want:e}"
            ),
        }
    }
}

/// Holds rows of `output`, the whole output of a call, against the oracle's answers for `rows`, one after the other
/// in `want`.
///
/// # Panics
/// When `want` is not as long as `rows` say or `output` ends before a row.
pub fn check_rows(tolerance: &Tolerance, want: &[f64], output: &[u8], rows: &[i64]) -> Check {
    let length = tolerance.row_length;
    assert_eq!(want.len(), rows.len() * length, "answers for the rows");
    let mut check = Check { worst: 0.0, failure: None };
    for (want, row) in want.chunks_exact(length).zip(rows) {
        let start = *row as usize * length * 4;
        let got = output[start..start + length * 4].as_chunks().0;
        let (worst, failure) = check_row(tolerance, want, got, *row);
        check.worst = check.worst.max(worst);
        check.failure = check.failure.or(failure);
    }
    check
}

fn check_row(tolerance: &Tolerance, want: &[f64], got: &[[u8; 4]], row: i64) -> (f64, Option<Mismatch>) {
    let scale = rms(want.iter().copied());
    let element_limit = tolerance.element * scale + tolerance.absolute;
    let row_limit = tolerance.row * scale + tolerance.absolute;
    let (mut largest, mut at, mut squares) = (0.0, 0, 0.0);
    for (i, (want, got)) in want.iter().zip(got).enumerate() {
        let error = (f64::from(f32::from_ne_bytes(*got)) - want).abs();
        squares += error * error;
        // NaN counts as the largest, and stays: nothing is above it.
        if error > largest || (error.is_nan() && !f64::is_nan(largest)) {
            (largest, at) = (error, i);
        }
    }
    let off = (squares / want.len() as f64).sqrt();
    let bound = match (largest <= element_limit, off <= row_limit) {
        (true, true) => None,
        (true, false) => Some((Bound::Row, row_limit)),
        (false, _) => Some((Bound::Element, element_limit)),
    };
    let share = (largest / element_limit).max(off / row_limit);
    let share = if largest.is_finite() { share } else { f64::INFINITY };
    let failure = bound.map(|(bound, limit)| Mismatch {
        row,
        element: at,
        got: f32::from_ne_bytes(got[at]),
        want: want[at],
        limit,
        bound,
    });
    (share, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Tolerance = Tolerance { element: 1e-3, row: 2e-4, absolute: 1e-38, row_length: 4 };

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|x| x.to_ne_bytes()).collect()
    }

    #[test]
    fn one_element_the_row_and_the_shares() {
        // Two rows of rms 1; the second is looked at.
        let check = |got: [f32; 4], wrong: Option<(usize, Bound)>, worst: f64| {
            let output = bytes(&[&[9.0; 4][..], &got].concat());
            let found = check_rows(&TOLERANCE, &[1.0; 4], &output, &[1]);
            assert_eq!(found.failure.map(|m| (m.element, m.bound)), wrong, "{got:?}");
            assert!(found.worst == worst || (found.worst / worst - 1.0).abs() < 0.01, "{got:?}: {}", found.worst);
        };
        check([1.0; 4], None, 0.0);
        check([1.0, 1.0003, 1.0, 1.0], None, 0.75);
        check([1.0, 1.0, 1.002, 1.0], Some((2, Bound::Element)), 5.0);
        check([1.0003, 1.0003, 1.0003, 1.0004], Some((3, Bound::Row)), 1.635);
        check([1.0, f32::NAN, 1.0, 9.0], Some((1, Bound::Element)), f64::INFINITY);
        check([1.0, 9.0, 1.0, f32::NAN], Some((3, Bound::Element)), f64::INFINITY);
        check([f32::INFINITY, 1.0, 1.0, 1.0], Some((0, Bound::Element)), f64::INFINITY);
        check([f32::NAN; 4], Some((0, Bound::Element)), f64::INFINITY);
    }

    #[test]
    fn scale_is_the_rows_own() {
        let check = |want: [f64; 4], got: [f32; 4], passes: bool| {
            let found = check_rows(&TOLERANCE, &want, &bytes(&got), &[0]);
            assert_eq!(found.failure.is_none(), passes, "{want:?} {got:?}");
        };
        check([1e6, -1e6, 1e6, 1e6], [1_000_100.0, -1e6, 1e6, 1e6], true);
        check([1e-6, -1e-6, 1e-6, 1e-6], [1.01e-6, -1e-6, 1e-6, 1e-6], false);
        check([0.0; 4], [0.0; 4], true);
        check([0.0; 4], [1e-30, 0.0, 0.0, 0.0], false);
    }

    #[test]
    fn people_see_where() {
        let found = check_rows(&TOLERANCE, &[1.0; 4], &bytes(&[1.0, 1.0, 1.25, 1.0]), &[0]);
        insta::assert_snapshot!(
            found.failure.unwrap().to_string(),
            @"row 0, element 2: got 1.25e0, want 1e0, off by 2.5e-1, 1.0e-3 allowed"
        );
    }
}
