//! One side of a comparison on one workload: its code, its memory, and what fills and checks it.
//!
//! Inputs are shared by both sides and drawn while every runner is stopped; outputs, scratch and packed weights are a
//! side's own, so that no side can find the other's answers.

mod slot;
mod watch;

use crate::memory::Memory;
use crate::python::Array;
use crate::runner::{Argument, Code};
use model::{Rule, Stage, Verdict, Workload};
use problems::{Check, Family, Oracle, Problem, Role, Tolerance};
use protocol::{MAX_ARGUMENTS, MAX_CALLS, MAX_SIZES, OP_CALL, Order};
use rand::{Rng, RngExt};
pub use slot::{Placement, Slot};
use std::io;
use std::rc::Rc;
pub use watch::Watch;

/// Bytes after every argument that must stay as they are: one cache line.
const CANARY: usize = 64;
/// Fresh data of one batch at most: drawing costs the judge about 1 ns a byte.
const BATCH_BYTES: usize = 16 << 20;

/// What a runner is started for: which arguments it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The calls that are timed: output and scratch.
    Call,
    /// Packing the weights, in a process of its own: the packed ones alone. Behind the seal no process can give up a
    /// right to write, so the one that is timed never has it.
    Prepare,
}

impl Purpose {
    fn may_write(self, role: Role) -> bool {
        match self {
            Self::Call => matches!(role, Role::Output | Role::Scratch),
            Self::Prepare => role == Role::Packed,
        }
    }
}

/// One side.
#[derive(Clone)]
pub struct Side {
    /// What runs.
    pub code: Code,
    /// Its arguments, in the entry's order.
    pub slots: Vec<Slot>,
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// Calls that one batch has room for.
    pub calls_max: usize,
    /// The shape.
    pub workload: Workload,
    /// What its activations hold.
    pub family: Family,
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    /// Rows held against the oracle.
    pub rows: u64,
    /// Largest error as a share of the tolerance.
    pub worst: f64,
}

/// How many rows of a call's output are held against the oracle. Every element is scanned in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All of them.
    All,
    /// This many, drawn after the call.
    Random(usize),
}

/// The means of checking one workload.
pub struct Checker<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Its float64 oracle.
    pub oracle: &'a Oracle,
    /// The tolerance of this workload.
    pub tolerance: &'a Tolerance,
    /// What one row of the oracle takes.
    pub row_cost: std::time::Duration,
}

impl Side {
    /// Memory for `code` on `workload`.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(problem: &Problem, workload: &Workload, code: Code) -> io::Result<Self> {
        let bytes = problem.workload_bytes(workload);
        let fresh: usize = problem
            .arguments
            .iter()
            .zip(&bytes)
            .filter(|(argument, _)| matches!(argument.role, Role::Activation | Role::Output))
            .map(|(_, bytes)| bytes + CANARY)
            .sum();
        let calls_max = (BATCH_BYTES / fresh.max(1)).clamp(1, MAX_CALLS);
        let mut slots = Vec::new();
        for (i, (argument, bytes)) in problem.arguments.iter().zip(bytes).enumerate() {
            let pooled = matches!(argument.role, Role::Activation | Role::Output);
            let stride = if pooled { (bytes + CANARY).next_multiple_of(64) } else { 0 };
            let memory = Rc::new(Memory::new(if pooled { stride * calls_max } else { bytes })?);
            let array = Some(Rc::new(Array {
                name: argument.name.clone(),
                dtype: argument.dtype.name().to_owned(),
                size: argument.dtype.size(),
                shape: problem.dimensions(i, workload),
            }));
            slots.push(Slot { role: argument.role, memory, bytes, stride, array });
        }
        let (sizes, workload) = (problem.sizes(workload), workload.clone());
        Ok(Self { code, slots, sizes, calls_max, workload, family: Family::Declared })
    }

    /// A ceiling's probe: memory of its own, filled once with values from 0.5 to 1.5; nothing is drawn or checked.
    /// `elements` is the working set of a memory probe, in f32; the others choose their own.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn probe(code: Code, name: &str, repeats: i64, elements: i64, workload: Workload) -> io::Result<Self> {
        let sizes = if kernels::bytes(name, &[elements, 1]).is_some_and(|bytes| bytes > 0.0) {
            vec![elements, repeats]
        } else {
            vec![repeats]
        };
        let mut slots = Vec::new();
        for bytes in kernels::buffers(name, &sizes).unwrap_or_default() {
            let memory = Rc::new(Memory::new(bytes)?);
            let mut state = 0x9e37_79b9_u32;
            for word in memory.part(0, memory.len()).chunks_exact_mut(4) {
                state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                word.copy_from_slice(&(0.5 + (state >> 8) as f32 / (1 << 24) as f32).to_ne_bytes());
            }
            slots.push(Slot { role: Role::Scratch, memory, bytes, stride: 0, array: None });
        }
        Ok(Self { code, slots, sizes, calls_max: MAX_CALLS, workload, family: Family::Declared })
    }

    /// The other side: the same inputs, and an output, scratch and packed memory of its own.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn rival(&self, code: Code) -> io::Result<Self> {
        let mut rival = self.clone();
        rival.code = code;
        for slot in &mut rival.slots {
            if !slot.role.is_input() {
                slot.memory = Rc::new(Memory::new(slot.memory.len())?);
            }
        }
        Ok(rival)
    }

    /// The arguments as a runner maps them.
    pub fn arguments(&self, purpose: Purpose) -> Vec<Argument> {
        let argument = |slot: &Slot| Argument {
            memory: Rc::clone(&slot.memory),
            writable: purpose.may_write(slot.role),
            array: slot.array.clone(),
        };
        self.slots.iter().map(argument).collect()
    }

    /// Whether its code packs weights before it is called.
    pub fn prepares(&self) -> bool {
        self.slots.iter().any(|slot| slot.role == Role::Packed)
            && match &self.code {
                Code::Artefact(_) => true,
                Code::Python(python) => python.prepares,
                Code::Kernel { name, .. } => kernels::find(name).is_some_and(|kernel| kernel.prepare.is_some()),
            }
    }

    /// The order of a batch.
    #[expect(clippy::large_stack_arrays, reason = "the control page's own layout: 24 KiB, copied once a batch")]
    pub fn order(&self, op: u32, calls: usize, placement: Placement) -> Order {
        let mut order = Order {
            op,
            calls: calls as u32,
            arguments: self.slots.len() as u32,
            sizes: [0; MAX_SIZES],
            offsets: [[0; MAX_ARGUMENTS]; MAX_CALLS],
        };
        order.sizes[..self.sizes.len()].copy_from_slice(&self.sizes);
        for (call, offsets) in order.offsets.iter_mut().enumerate().take(calls) {
            for (offset, slot) in offsets.iter_mut().zip(&self.slots) {
                *offset = slot.offset(call, placement) as u64;
            }
        }
        order
    }

    /// Draws the weights: once, after load.
    pub fn draw_weights(&self, problem: &Problem, placement: Placement, coins: &mut impl Rng) {
        for (i, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.role == Role::Weight) {
            problem.draw(i, coins.random(), slot.memory.part(slot.offset(0, placement), slot.bytes));
        }
    }

    /// Overwrites all that a runner may write with a secret word, before one starts: what an earlier process left is
    /// gone, and what nobody wrote is no number. Gives the word.
    pub fn wipe(&self, coins: &mut impl Rng) -> u32 {
        let word = poison(coins);
        for slot in self.slots.iter().filter(|slot| !slot.role.is_input()) {
            fill_words(slot.memory.part(0, slot.memory.len()), word);
        }
        word
    }

    /// Checks, after the first call in wiped memory, that the outputs' pools are untouched behind that call's canary.
    ///
    /// # Errors
    /// The candidate's verdict.
    pub fn check_behind(&self, word: u32) -> Result<(), Verdict> {
        for slot in self.slots.iter().filter(|slot| slot.role == Role::Output) {
            let behind = slot.memory.part(slot.stride, slot.memory.len() - slot.stride);
            if behind.chunks_exact(4).any(|found| found != word.to_ne_bytes()) {
                let detail = "it wrote far past the end of the output".to_owned();
                return Err(Verdict::Refused { rule: Rule::OutOfBounds, detail });
            }
        }
        Ok(())
    }

    /// Fills a batch: fresh activations, poisoned outputs, canaries. Every runner is stopped.
    pub fn fill(&self, problem: &Problem, calls: usize, placement: Placement, coins: &mut impl Rng) -> u32 {
        for (i, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.role == Role::Activation) {
            for call in 0..calls {
                let part = slot.memory.part(slot.offset(call, placement), slot.bytes);
                problem.draw_as(self.family, (i, &self.workload), coins.random(), part);
            }
        }
        self.poison(calls, placement, coins)
    }

    /// Poisons the outputs and sets the canaries of a batch whose inputs stay.
    fn poison(&self, calls: usize, placement: Placement, coins: &mut impl Rng) -> u32 {
        let poison = poison(coins);
        for slot in self.slots.iter().filter(|slot| slot.role == Role::Output) {
            for call in 0..calls {
                fill_words(slot.memory.part(slot.offset(call, placement), slot.bytes), poison);
                fill_words(slot.canary(call, placement), !poison);
            }
        }
        poison
    }

    /// The bits of one call's outputs.
    pub fn outputs(&self, placement: Placement) -> Vec<Vec<u8>> {
        let outputs = self.slots.iter().filter(|slot| slot.role == Role::Output);
        outputs.map(|slot| slot.memory.part(slot.offset(0, placement), slot.bytes).to_vec()).collect()
    }

    /// Checks every call of a batch on the stopped runner: all elements for poison and finiteness, the canaries, and
    /// rows against the float64 oracle.
    ///
    /// # Errors
    /// The candidate's verdict.
    pub fn check(
        &self,
        checker: &Checker<'_>,
        batch: &Batch,
        rows: Rows,
        coins: &mut impl Rng,
    ) -> Result<Checked, Verdict> {
        let mut checked = Checked::default();
        let total = checker.problem.rows(&self.workload);
        for call in 0..batch.calls {
            self.check_writes(batch, call)?;
            let rows: Vec<i64> = match rows {
                Rows::All => (0..total as i64).collect(),
                Rows::Random(n) => (0..n).map(|_| coins.random_range(0..total as i64)).collect(),
            };
            let worst = self.check_rows(checker, batch, call, &rows)?;
            checked.rows += rows.len() as u64;
            checked.worst = checked.worst.max(worst);
        }
        Ok(checked)
    }

    fn check_writes(&self, batch: &Batch, call: usize) -> Result<(), Verdict> {
        for slot in self.slots.iter().filter(|slot| slot.role == Role::Output) {
            let output = slot.memory.part(slot.offset(call, batch.placement), slot.bytes);
            if let Some(element) = problems::scan(output, batch.poison) {
                let bits = u32::from_ne_bytes([0, 1, 2, 3].map(|byte| output[4 * element + byte]));
                return Err(bad_element(element, bits, batch.poison));
            }
            let mark = (!batch.poison).to_ne_bytes();
            if slot.canary(call, batch.placement).chunks_exact(4).any(|word| word != mark) {
                return Err(Verdict::Refused {
                    rule: Rule::OutOfBounds,
                    detail: "it wrote past the end of the output".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn check_rows(&self, checker: &Checker<'_>, batch: &Batch, call: usize, rows: &[i64]) -> Result<f64, Verdict> {
        let inputs = self.slots.iter().filter(|slot| slot.role.is_input());
        let inputs: Vec<&[u8]> =
            inputs.map(|slot| &*slot.memory.part(slot.offset(call, batch.placement), slot.bytes)).collect();
        let mut want = vec![0.0; rows.len() * checker.problem.row_length(&self.workload)];
        checker.oracle.rows_f64(&self.workload, &inputs, rows, &mut want);
        let slot = &self.slots[checker.problem.output()];
        let got = slot.memory.part(slot.offset(call, batch.placement), slot.bytes);
        let Check { worst, failure } = problems::check_rows(checker.tolerance, &want, got, rows);
        match failure {
            None => Ok(worst),
            Some(mismatch) => Err(Verdict::Failed { stage: Stage::Invalid, cause: mismatch.to_string() }),
        }
    }
}

/// A batch as it was filled.
pub struct Batch {
    /// Calls.
    pub calls: usize,
    /// Layout.
    pub placement: Placement,
    /// What the outputs held before.
    pub poison: u32,
}

impl Batch {
    /// Fills `calls` calls of `side`, and remembers how.
    pub fn fill(side: &Side, problem: &Problem, calls: usize, placement: Placement, coins: &mut impl Rng) -> Self {
        Self { calls, placement, poison: side.fill(problem, calls, placement, coins) }
    }

    /// The same inputs once more, under another poison.
    pub fn again(&self, side: &Side, coins: &mut impl Rng) -> Self {
        Self { calls: self.calls, placement: self.placement, poison: side.poison(self.calls, self.placement, coins) }
    }

    /// Its order.
    pub fn order(&self, side: &Side) -> Order {
        side.order(OP_CALL, self.calls, self.placement)
    }
}

fn bad_element(element: usize, bits: u32, poison: u32) -> Verdict {
    if bits == poison {
        return Verdict::Refused {
            rule: Rule::UnwrittenOutput,
            detail: format!("element {element} of the output was left as it was before the call"),
        };
    }
    let cause = format!("element {element} of the output is {}", f32::from_bits(bits));
    Verdict::Failed { stage: Stage::Invalid, cause }
}

/// A secret NaN: no honest arithmetic gives its payload.
fn poison(coins: &mut impl Rng) -> u32 {
    0x7f80_0001 | (coins.random::<u32>() & 0x803f_fffe)
}

fn fill_words(part: &mut [u8], word: u32) {
    for place in part.chunks_exact_mut(4) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}
