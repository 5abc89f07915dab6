//! Our own code behind the candidate's interface: probes of the machine's ceilings, and stock baselines.
//!
//! It runs inside the sealed runner, so after [`Kernel::warm`] an entry makes no system call: no thread, no file, no
//! clock, and memory only from a heap that was grown before. It knows no expected answer, and it never times itself.
#![expect(clippy::cast_ptr_alignment, reason = "the interface aligns every buffer to 64 bytes")]

mod amx;
mod attention;
mod exp;
mod fma;
mod instructions;
mod isa;
mod lanes;
mod matmul;
mod memory;
mod norm;
mod primitives;
mod registry;
mod stores;
mod sweep;
mod units;

#[cfg(test)]
mod testing;

pub use exp::exp_f32;
pub use instructions::{Chain, INSTRUCTION_DATA, Instruction, UNROLLS, instructions};
pub use isa::{Isa, isa};
pub use primitives::{Forward, calls, flush_and_load, forward, indirect_calls};
pub use registry::{buffers, bytes, cycles, exps, find, flop, names};

/// A kernel as the runner calls it: pointers to the arguments' buffers, and the sizes.
///
/// # Safety
/// The buffers must be as many and as large as the kernel's documentation says, and aligned to 64 bytes.
pub type Entry = unsafe fn(buffers: *const *mut u8, sizes: *const i64);

/// One kernel of this crate.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name, as problems and jobs spell it.
    pub name: &'static str,
    /// The call that is timed.
    pub entry: Entry,
    /// Packs the weights, timed apart. No kernel here needs one yet.
    pub prepare: Option<Entry>,
    /// Call it before the seal, on the thread that will call `entry`: it runs the code once on little data, so that
    /// every lazy initialisation (feature detection, thread-local scratch, permission for tiles) lies behind.
    pub warm: fn(),
}
