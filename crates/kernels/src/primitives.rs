//! The smallest things that code does beside arithmetic: a call, a load of what was just stored, a load of a line that
//! was just flushed.
//!
//! Must not time anything; each function does its thing as often as it is told.

use std::arch::asm;
use std::hint::black_box;

/// What a load finds of the stores before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Eight bytes stored, the same eight loaded.
    Same,
    /// Eight bytes stored, the upper four loaded.
    Inside,
    /// Twice four bytes stored, all eight loaded: most cores wait until both are in the cache.
    Across,
}

/// Calls of one loop iteration.
const UNROLL: u64 = 16;

/// The callee. The empty text stays in place, and so does the call.
#[inline(never)]
extern "C" fn empty() {
    // SAFETY: no instruction.
    unsafe { asm!("", options(nomem, nostack)) };
}

macro_rules! sixteen_times {
    ($call:expr) => {
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
    };
}

/// Calls a function that does nothing, at least `n` times; how often.
pub fn calls(n: u64) -> u64 {
    let rounds = n.div_ceil(UNROLL);
    for _ in 0..rounds {
        sixteen_times!(empty());
    }
    rounds * UNROLL
}

/// The same through a pointer that the compiler does not know.
pub fn indirect_calls(n: u64) -> u64 {
    let callee: extern "C" fn() = black_box(empty);
    let rounds = n.div_ceil(UNROLL);
    for _ in 0..rounds {
        sixteen_times!(callee());
    }
    rounds * UNROLL
}

/// Stores and loads `n` times in one chain; none on a platform without the probe.
pub fn forward(form: Forward, n: u64) -> Option<u64> {
    let rounds = n.div_ceil(UNROLL);
    let mut cell = [0_u64; 8];
    let cell = black_box(cell.as_mut_ptr());
    let mut value = black_box(1_u64);
    for _ in 0..rounds {
        // SAFETY: the cell is ours, and 64 bytes long.
        value = unsafe { round(form, cell, value) }?;
    }
    black_box(value);
    Some(rounds * UNROLL)
}

#[cfg(target_arch = "x86_64")]
#[expect(clippy::unnecessary_wraps, reason = "another platform has no such probe")]
unsafe fn round(form: Forward, cell: *mut u64, mut value: u64) -> Option<u64> {
    unsafe {
        match form {
            Forward::Same => asm!(".rept 16", "mov [{p}], {v}", "mov {v}, [{p}]", ".endr",
                                  p = in(reg) cell, v = inout(reg) value, options(nostack)),
            Forward::Inside => asm!(".rept 16", "mov [{p}], {v}", "mov {v:e}, [{p} + 4]", ".endr",
                                    p = in(reg) cell, v = inout(reg) value, options(nostack)),
            Forward::Across => asm!(".rept 16", "mov [{p}], {v:e}", "mov [{p} + 4], {v:e}", "mov {v}, [{p}]", ".endr",
                                    p = in(reg) cell, v = inout(reg) value, options(nostack)),
        }
    }
    Some(value)
}

#[cfg(target_arch = "aarch64")]
#[expect(clippy::unnecessary_wraps, reason = "another platform has no such probe")]
unsafe fn round(form: Forward, cell: *mut u64, mut value: u64) -> Option<u64> {
    unsafe {
        match form {
            Forward::Same => asm!(".rept 16", "str {v}, [{p}]", "ldr {v}, [{p}]", ".endr",
                                  p = in(reg) cell, v = inout(reg) value, options(nostack)),
            Forward::Inside => asm!(".rept 16", "str {v}, [{p}]", "ldr {v:w}, [{p}, #4]", ".endr",
                                    p = in(reg) cell, v = inout(reg) value, options(nostack)),
            Forward::Across => asm!(".rept 16", "str {v:w}, [{p}]", "str {v:w}, [{p}, #4]", "ldr {v}, [{p}]", ".endr",
                                    p = in(reg) cell, v = inout(reg) value, options(nostack)),
        }
    }
    Some(value)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn round(_: Forward, _: *mut u64, _: u64) -> Option<u64> {
    None
}

/// Flushes the line of `start` and loads the byte `offset` behind it, `n` times: slow where both lie in one line. False
/// on a platform that lets no program flush.
///
/// # Safety
/// `start` must be good for `offset` + 8 bytes.
#[cfg(target_arch = "x86_64")]
pub unsafe fn flush_and_load(start: *const u8, offset: usize, n: u64) -> bool {
    if n > 0 {
        unsafe {
            asm!("2:", "clflush [{a}]", "mfence", "mov {t}, [{a} + {d}]", "lfence", "dec {n}", "jnz 2b",
                 a = in(reg) start, d = in(reg) offset, t = out(reg) _, n = inout(reg) n => _,
                 options(nostack));
        }
    }
    true
}

/// Flushes nothing here.
///
/// # Safety
/// Always safe: it touches nothing.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn flush_and_load(_: *const u8, _: usize, _: u64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_does_at_least_as_often_as_told() {
        assert_eq!((calls(17), indirect_calls(32), calls(0)), (32, 32, 0));
        for form in [Forward::Same, Forward::Inside, Forward::Across] {
            assert!(forward(form, 5).is_none_or(|n| n == 16));
        }
    }

    #[test]
    fn stored_values_come_back() {
        let mut cell = [0_u64; 8];
        // SAFETY: the cell is ours, and 64 bytes long.
        let mut of = |form, value| unsafe { round(form, cell.as_mut_ptr(), value) };
        assert!(of(Forward::Same, 7).is_none_or(|v| v == 7));
        assert!(of(Forward::Inside, 7).is_none_or(|v| v == 0));
        assert!(of(Forward::Across, 7).is_none_or(|v| v == 7 << 32 | 7));
    }

    #[test]
    fn a_flushed_line_is_loaded_again() {
        let bytes = [1_u8; 512];
        // SAFETY: 512 bytes.
        unsafe { flush_and_load(bytes.as_ptr(), 256, 3) };
        assert_eq!(bytes, [1; 512]);
    }
}
