//! Answers that take no work, or work in too few bits: a problem whose check lets one through is refused.
//!
//! Must not accept a problem by default: every answer here has to be seen to fail.

use crate::problem::{Dtype, Problem, ToleranceRule};
use crate::tolerance::check_rows;
use crate::workload::SplitMix;
use crate::{Family, Oracle, ProblemError, Tolerance};
use model::{Workload, bf16};

/// Rows that trivial answers are tried on.
const ROWS: usize = 16;

/// Refuses the problem when zero, a constant, a copy of an input, the answer to other inputs, or the answer to inputs
/// rounded to half precision passes `tolerance` on half of the rows or more.
///
/// # Errors
/// [`ProblemError::Trivial`] with the answer that passed.
pub fn refuse_trivial(
    problem: &Problem,
    oracle: &Oracle,
    workload: &Workload,
    tolerance: &Tolerance,
    seed: u64,
) -> Result<(), ProblemError> {
    let mut coins = SplitMix(seed);
    let sample = Sample::draw(problem, (workload, Family::Declared), coins.next(), ROWS);
    let want = sample.want(oracle)?;
    for (answer, got) in sample.answers(oracle, &want, coins.next())? {
        let length = tolerance.row_length;
        let bytes: Vec<u8> = got.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let passes = |row: usize| {
            let want = &want[row * length..(row + 1) * length];
            check_rows(tolerance, want, &bytes, &[row as i64]).failure.is_none()
        };
        let rows = sample.rows.len();
        if 2 * (0..rows).filter(|row| passes(*row)).count() >= rows {
            let (problem, workload) = (problem.name.clone(), workload.name.clone());
            return Err(ProblemError::Trivial { problem, workload, answer });
        }
    }
    Ok(())
}

/// Inputs under one key and some rows of the output.
pub(crate) struct Sample<'a> {
    problem: &'a Problem,
    workload: &'a Workload,
    family: Family,
    inputs: Vec<Input>,
    rows: Vec<i64>,
}

impl<'a> Sample<'a> {
    /// Draws inputs and up to `rows` rows: the first, the last, and random ones.
    pub(crate) fn draw(
        problem: &'a Problem,
        (workload, family): (&'a Workload, Family),
        key: u64,
        rows: usize,
    ) -> Self {
        let bytes = problem.workload_bytes(workload);
        let inputs = problem.inputs().into_iter().map(|argument| {
            let mut input = Input::new(argument, bytes[argument]);
            problem.draw_as(family, (argument, workload), key, input.bytes_mut());
            input
        });
        let (count, mut coins) = (problem.rows(workload), SplitMix(key));
        let mut picked = vec![0, count as i64 - 1];
        picked.extend((2..rows).map(|_| coins.below(count) as i64));
        picked.sort_unstable();
        picked.dedup();
        Self { problem, workload, family, inputs: inputs.collect(), rows: picked }
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.inputs.iter().map(Input::bytes).collect()
    }

    fn elements(&self) -> usize {
        self.rows.len() * self.problem.row_length(self.workload)
    }

    /// The float64 answer.
    pub(crate) fn want(&self, oracle: &Oracle) -> Result<Vec<f64>, ProblemError> {
        let mut out = vec![f64::NAN; self.elements()];
        oracle.rows_f64(self.workload, &self.slices(), &self.rows, &mut out);
        match out.iter().position(|x| !x.is_finite()) {
            None => Ok(out),
            Some(i) => Err(ProblemError::Oracle {
                problem: self.problem.name.clone(),
                why: format!("element {i} of its sampled rows is {} at {}", out[i], self.workload.name),
            }),
        }
    }

    /// The answer with the error that the problem's rule takes as its measure; `key` picks what is left to chance.
    pub(crate) fn rough(&self, oracle: &Oracle, key: u64) -> Vec<f32> {
        let mut out = vec![f32::NAN; self.elements()];
        match self.problem.rule {
            ToleranceRule::OracleF32 => oracle.rows_f32(self.workload, &self.slices(), &self.rows, &mut out),
            ToleranceRule::OracleBf16 => {
                oracle.rows_f32(self.workload, &self.moved(key).slices(), &self.rows, &mut out);
            }
        }
        out
    }

    /// Every twelfth element of a bf16 input, by chance, one step up or down: the variance of a rounding, which is a
    /// twelfth of a squared step.
    fn moved(&self, key: u64) -> Self {
        const ONE_IN: usize = 12;
        let mut coins = SplitMix(key);
        self.with_inputs(|dtype, bytes| {
            if dtype == Dtype::Bf16 {
                for element in bytes.as_chunks_mut().0 {
                    match coins.below(2 * ONE_IN) {
                        0 => *element = bf16::neighbour(*element, true),
                        1 => *element = bf16::neighbour(*element, false),
                        _ => {}
                    }
                }
            }
        })
    }

    /// The same rows of inputs that were changed.
    fn with_inputs(&self, mut change: impl FnMut(Dtype, &mut [u8])) -> Self {
        let inputs = self.inputs.iter().map(|input| {
            let mut copy = input.copy();
            change(self.problem.arguments[input.argument].dtype, copy.bytes_mut());
            copy
        });
        Self { inputs: inputs.collect(), rows: self.rows.clone(), ..*self }
    }

    /// Every answer that must fail, with its name.
    fn answers(&self, oracle: &Oracle, want: &[f64], other: u64) -> Result<Vec<(String, Vec<f32>)>, ProblemError> {
        let length = self.problem.row_length(self.workload);
        let mean = |values: &[f64]| (values.iter().sum::<f64>() / values.len() as f64) as f32;
        let mut answers = vec![
            ("zero".to_owned(), vec![0.0; want.len()]),
            ("one constant, the mean,".to_owned(), vec![mean(want); want.len()]),
            (
                "each row's own mean".to_owned(),
                want.chunks_exact(length).flat_map(|row| vec![mean(row); length]).collect(),
            ),
        ];
        for input in &self.inputs {
            if matches!(self.problem.arguments[input.argument].dtype, Dtype::F32 | Dtype::Bf16) {
                let name = format!("a copy of `{}`", self.problem.arguments[input.argument].name);
                answers.push((name, self.copy(input, length)));
            }
        }
        let narrow = |values: Vec<f64>| values.into_iter().map(|x| x as f32).collect::<Vec<f32>>();
        let elsewhere =
            Sample { rows: self.rows.clone(), ..Sample::draw(self.problem, (self.workload, self.family), other, ROWS) };
        answers.push(("the answer to other inputs".to_owned(), narrow(elsewhere.want(oracle)?)));
        if let Some(rounded) = self.rounded() {
            let bits = if self.problem.rule == ToleranceRule::OracleBf16 { 4 } else { 11 };
            answers.push((format!("the answer to inputs rounded to {bits} bits"), narrow(rounded.want(oracle)?)));
        }
        Ok(answers)
    }

    /// The elements of `input` at the output's own positions, wrapped around.
    fn copy(&self, input: &Input, length: usize) -> Vec<f32> {
        let values: Vec<f32> = match self.problem.arguments[input.argument].dtype {
            Dtype::Bf16 => input.bytes().as_chunks().0.iter().copied().map(bf16::widened).collect(),
            _ => input.bytes().as_chunks().0.iter().copied().map(f32::from_ne_bytes).collect(),
        };
        let row = |row: &i64| *row as usize * length..(*row as usize + 1) * length;
        self.rows.iter().flat_map(row).map(|i| values[i % values.len()]).collect()
    }

    /// The same with every f32 input rounded to the 11 significant bits of f16 and TF32, every bf16 input to the 4 of fp8
    /// (E4M3); none when nothing changes.
    fn rounded(&self) -> Option<Self> {
        // Of an f32's 24 bits; a bf16 is the upper half of one.
        const DROPPED: u32 = 13;
        const DROPPED_OF_BF16: u32 = 20;
        let mut changed = false;
        let mut round = |word: u32, dropped: u32| {
            let rounded = word.wrapping_add(1 << (dropped - 1)) & !((1 << dropped) - 1);
            changed |= rounded != word;
            rounded
        };
        let sample = self.with_inputs(|dtype, bytes| match dtype {
            Dtype::F32 => {
                for word in bytes.as_chunks_mut().0 {
                    *word = round(u32::from_ne_bytes(*word), DROPPED).to_ne_bytes();
                }
            }
            Dtype::Bf16 => {
                for half in bytes.as_chunks_mut().0 {
                    let word = u32::from(u16::from_ne_bytes(*half)) << 16;
                    *half = ((round(word, DROPPED_OF_BF16) >> 16) as u16).to_ne_bytes();
                }
            }
            Dtype::F64 | Dtype::I32 => {}
        });
        changed.then_some(sample)
    }
}

/// One drawn argument, aligned for the oracle.
struct Input {
    argument: usize,
    store: Vec<u8>,
    start: usize,
    length: usize,
}

impl Input {
    /// Zeros until written.
    fn new(argument: usize, length: usize) -> Self {
        const ALIGNMENT: usize = 64;
        let store = vec![0; length + ALIGNMENT];
        Self { argument, start: store.as_ptr().align_offset(ALIGNMENT), store, length }
    }

    fn copy(&self) -> Self {
        let mut copy = Self::new(self.argument, self.length);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }

    fn bytes(&self) -> &[u8] {
        &self.store[self.start..self.start + self.length]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.store[self.start..self.start + self.length]
    }
}
