//! The memory of one shape: inputs that every side reads, outputs that are each side's own.
//!
//! Must not give a side another's output: that is where the answers are.

use super::check::{Found, Poison, compare};
use super::draw;
use crate::judge::EnvError;
use crate::memory::Memory;
use crate::python::Array;
use crate::runner::Code;
use crate::sandbox::SandboxError;
use crate::side::{Placement, Side, Slot};
use ::foreign::{Fill, Shape, Tensor};
use model::{Rule, Verdict, Workload};
use problems::{Family, Role};
use protocol::{MAX_ARGUMENTS, MAX_CALLS};
use rand::{Rng, RngExt};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

/// Bytes after every argument that must stay as they are.
const CANARY: usize = 64;
/// Fresh data of one batch at most.
const BATCH_BYTES: usize = 16 << 20;

/// One shape, ready to be filled, called and checked.
pub struct Stage<'a> {
    /// The shape.
    pub shape: &'a Shape,
    /// Base, candidate, oracle: the same inputs, outputs of their own.
    pub sides: [Side; 3],
    /// The function that draws, where there is one, with the inputs as its outputs.
    pub draws: Option<Side>,
}

impl<'a> Stage<'a> {
    /// Memory for all sides.
    ///
    /// # Errors
    /// When there is none, there are too many arguments, or a file of inputs can't be read.
    pub fn new(shape: &'a Shape, codes: [Code; 3], draws: Option<Code>) -> Result<Self, EnvError> {
        let tensors: Vec<&Tensor> = shape.tensors().map(|(tensor, _)| tensor).chain(&shape.outputs).collect();
        if tensors.len() > MAX_ARGUMENTS {
            let what = format!("{} tensors, and at most {MAX_ARGUMENTS} are passed", tensors.len());
            return Err(EnvError::Problem(what));
        }
        let fresh: usize = tensors.iter().map(|tensor| tensor.bytes() + CANARY).sum();
        let calls_max = (BATCH_BYTES / fresh.max(1)).clamp(1, MAX_CALLS);
        let inputs = shape.tensors().count();
        let os = |error| EnvError::from(SandboxError::Os(error));
        let mut slots = Vec::new();
        for (i, tensor) in tensors.into_iter().enumerate() {
            let stride = (tensor.bytes() + CANARY).next_multiple_of(64);
            let memory = Rc::new(Memory::new(stride * calls_max).map_err(os)?);
            let array = Array {
                name: tensor.name.clone(),
                dtype: tensor.dtype.name().to_owned(),
                size: tensor.dtype.size(),
                shape: tensor.shape.clone(),
            };
            let role = if i < inputs { Role::Activation } else { Role::Output };
            slots.push(Slot { role, memory, bytes: tensor.bytes(), stride, array: Some(Rc::new(array)) });
        }
        let workload = Workload { name: shape.name.clone(), axes: shape.axes.clone() };
        let [base, candidate, oracle] = codes;
        let first = Side { code: base, slots, sizes: Vec::new(), calls_max, workload, family: Family::Declared };
        let second = first.rival(candidate).map_err(os)?;
        let third = first.rival(oracle).map_err(os)?;
        let draws = draws.map(|code| drawing(&first, inputs, code));
        let stage = Self { shape, sides: [first, second, third], draws };
        stage.read_files()?;
        Ok(stage)
    }

    /// Inputs that lie in files: read once, the same for every call.
    fn read_files(&self) -> Result<(), EnvError> {
        for ((_, fill), slot) in self.shape.tensors().zip(&self.sides[0].slots) {
            let Fill::File { path, offset } = fill else { continue };
            let read = || {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*offset))?;
                file.read_exact(slot.memory.part(0, slot.bytes))
            };
            read().map_err(|error| EnvError::Problem(format!("{}: {error}", path.display())))?;
            for call in 1..self.sides[0].calls_max {
                for placement in [Placement::Pool, Placement::Back] {
                    let first = slot.memory.part(0, slot.bytes).to_vec();
                    slot.memory.part(slot.offset(call, placement), slot.bytes).copy_from_slice(&first);
                }
            }
        }
        Ok(())
    }

    /// Names of inputs that are the same in every call: a candidate could keep answers by content.
    pub fn repeated(&self) -> Vec<&str> {
        let is_file = |(tensor, fill): (&'a Tensor, &Fill)| matches!(fill, Fill::File { .. }).then_some(&*tensor.name);
        self.shape.tensors().filter_map(is_file).collect()
    }

    /// Draws every input that is random, for `calls` calls.
    pub fn draw(&self, calls: usize, placement: Placement, coins: &mut impl Rng) {
        for ((tensor, fill), slot) in self.shape.tensors().zip(&self.sides[0].slots) {
            if *fill == Fill::Random {
                for call in 0..calls {
                    let place = slot.memory.part(slot.offset(call, placement), slot.bytes);
                    draw::random(tensor.dtype, coins.random(), place);
                }
            }
        }
    }

    /// Holds every call's outputs of `side` against the oracle's.
    pub fn check(
        &self,
        side: &Side,
        calls: usize,
        placement: Placement,
        poison: Poison,
    ) -> (Found, Result<(), Verdict>) {
        let mut found = Found::default();
        for call in 0..calls {
            for (i, tensor) in self.shape.outputs.iter().enumerate() {
                let at = side.slots.len() - self.shape.outputs.len() + i;
                let (got, want) = (&side.slots[at], &self.sides[2].slots[at]);
                if !poison.is_whole(got.canary(call, placement)) {
                    let detail = format!("it wrote past the end of `{}`", tensor.name);
                    return (found, Err(Verdict::Refused { rule: Rule::OutOfBounds, detail }));
                }
                let part = |slot: &Slot| slot.memory.part(slot.offset(call, placement), slot.bytes).to_vec();
                let (more, result) = compare(tensor, self.shape.bound, poison, (&part(got), &part(want)));
                found.add(more);
                if result.is_err() {
                    return (found, result);
                }
            }
        }
        (found, Ok(()))
    }

    /// An answer that needs no work and passes the bound on what the oracle gave: then the problem judges nothing.
    pub fn trivial_answer(&self, placement: Placement) -> Option<String> {
        let part = |slot: &Slot| slot.memory.part(slot.offset(0, placement), slot.bytes).to_vec();
        let inputs = self.shape.tensors().count();
        let passes = |answer: &dyn Fn(&Tensor) -> Option<Vec<u8>>| {
            self.shape.outputs.iter().enumerate().all(|(i, tensor)| {
                let want = part(&self.sides[2].slots[inputs + i]);
                answer(tensor)
                    .is_some_and(|got| compare(tensor, self.shape.bound, Poison::new(0), (&got, &want)).1.is_ok())
            })
        };
        if passes(&|tensor| Some(vec![0; tensor.bytes()])) {
            return Some("zeros".to_owned());
        }
        self.shape.tensors().enumerate().find_map(|(i, (input, _))| {
            let copy = |tensor: &Tensor| {
                let is_same = tensor.dtype == input.dtype && tensor.shape == input.shape;
                is_same.then(|| part(&self.sides[0].slots[i]))
            };
            passes(&copy).then(|| format!("a copy of `{}`", input.name))
        })
    }
}

/// Poisons a side's outputs, and what lies after them.
pub fn poison(side: &Side, calls: usize, placement: Placement, coins: &mut impl Rng) -> Poison {
    let poison = Poison::new(coins.random());
    for slot in side.slots.iter().filter(|slot| slot.role == Role::Output) {
        for call in 0..calls {
            poison.fill(slot.memory.part(slot.offset(call, placement), slot.bytes));
            poison.fill(slot.canary(call, placement));
        }
    }
    poison
}

/// The drawing function's side: it writes what the others read.
fn drawing(first: &Side, inputs: usize, code: Code) -> Side {
    let mut side = first.clone();
    side.code = code;
    side.sizes = vec![0];
    side.slots.truncate(inputs);
    for slot in &mut side.slots {
        slot.role = Role::Output;
    }
    side
}
