//! A kernel with its buffers, run by its repeat count.

use crate::Session;
use crate::arena::Arena;
use crate::random::Random;

/// Element type of a probe's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    F32,
    F64,
    Bf16,
    F16,
    /// Bytes of any value.
    Bits,
    /// `f32` from -0.2 to 0.2: squares plus these stay bounded.
    Small,
}

/// Looks a kernel up; tests hide some.
pub(crate) type Find = fn(&str) -> Option<kernels::Kernel>;

/// The kernel and its memory.
pub(crate) struct Repeated {
    kernel: kernels::Kernel,
    arena: Arena,
    /// Where the operands' arrays start.
    arrays: Vec<*mut u8>,
    /// Bytes of the arrays.
    sizes: Vec<usize>,
}

impl Repeated {
    /// As the session's machine has it.
    pub(crate) fn find(session: &Session, name: &str) -> Result<Self, String> {
        Self::by(session.find, name)
    }

    /// As `find` has it.
    pub(crate) fn by(find: Find, name: &str) -> Result<Self, String> {
        Self::sized(find, name, &[1])
    }

    /// With buffers for these sizes.
    pub(crate) fn sized(find: Find, name: &str, sizes: &[i64]) -> Result<Self, String> {
        let kernel = find(name).ok_or("this machine has no such unit, or the system does not permit it")?;
        let sizes = kernels::buffers(name, sizes).ok_or("the probe is unknown")?;
        let longest = sizes.iter().copied().max().unwrap_or(0);
        let arena = Arena::new(Arena::needed(sizes.len(), longest * sizes.len())).ok_or("out of memory")?;
        let arrays = arena.arrays(sizes.len(), longest).ok_or("out of memory")?;
        (kernel.warm)();
        Ok(Self { kernel, arena, arrays, sizes })
    }

    /// Draws the operands of the first array.
    pub(crate) fn draw(&self, operands: Operands, random: &mut Random) {
        self.draw_array(0, operands, random);
    }

    /// Draws the operands of one array.
    #[expect(clippy::cast_ptr_alignment, reason = "an array of an arena starts at a line")]
    pub(crate) fn draw_array(&self, array: usize, operands: Operands, random: &mut Random) {
        let (start, bytes) = (self.arrays[array], self.sizes[array]);
        // SAFETY: inside the array, which is aligned to 64 bytes.
        unsafe {
            match operands {
                Operands::F32 => (0..bytes / 4).for_each(|i| start.cast::<f32>().add(i).write(random.normal())),
                Operands::Small => {
                    let small = |random: &mut Random| (random.normal() / 8.0).clamp(-0.2, 0.2);
                    (0..bytes / 4).for_each(|i| start.cast::<f32>().add(i).write(small(random)));
                }
                Operands::F64 => {
                    (0..bytes / 8).for_each(|i| start.cast::<f64>().add(i).write(random.normal().into()));
                }
                Operands::Bf16 => (0..bytes / 2)
                    .for_each(|i| start.cast::<u16>().add(i).write((random.normal().to_bits() >> 16) as u16)),
                Operands::F16 => (0..bytes / 2).for_each(|i| start.cast::<u16>().add(i).write(half(random.bits()))),
                Operands::Bits => (0..bytes / 8).for_each(|i| start.cast::<u64>().add(i).write(random.bits())),
            }
        }
    }

    /// Draws nothing but zeros.
    pub(crate) fn clear(&self) {
        // SAFETY: inside the first array.
        unsafe { self.arrays[0].write_bytes(0, self.sizes[0]) };
    }

    /// Runs the probe `repeats` times in one call, and uses what it computed.
    pub(crate) fn run(&self, repeats: u64) {
        debug_assert!(self.arena.bytes() > 0);
        // SAFETY: the buffers are as many and as large as the table of kernels says.
        unsafe {
            (self.kernel.entry)(self.arrays.as_ptr(), [repeats as i64].as_ptr());
            let out = self.arrays[self.arrays.len() - 1];
            std::hint::black_box(out.read_volatile());
        }
    }
}

/// A normal f16 from 1/8 to 2, of either sign: random sign and mantissa, one of four exponents.
fn half(bits: u64) -> u16 {
    let (sign_and_mantissa, exponent) = (bits as u16 & 0x83FF, 12 + (bits >> 16 & 3) as u16);
    sign_and_mantissa | exponent << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_normal_numbers() {
        for bits in [0, u64::MAX, 0x1_0000, 0x8001] {
            let exponent = half(bits) >> 10 & 31;
            assert!((12..=15).contains(&exponent), "{bits:#x}");
        }
    }
}
