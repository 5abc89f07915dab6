//! `rms-norm-silu-two-pass`, the stock baseline of rms-norm-silu: two well vectorised operations, one after the other.
//!
//! Buffers `[x, gate, weight, out]`, sizes `[rows]`. A library has a normalisation and an activation, and no fusion of
//! the two: the second goes over the whole output again.
#![expect(clippy::inline_always, reason = "an intrinsic inlines only where the target feature is enabled")]

use crate::exp::exp;
use crate::lanes::{Lanes, dispatch};
use crate::registry::first;

/// Columns of a row.
pub(crate) const COLS: usize = 4096;
/// Added to the mean square.
const EPSILON: f32 = 1e-6;

/// `rms-norm-silu-two-pass`.
pub(crate) unsafe fn rms_norm_silu(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let buffer = |i: usize| (*buffers.add(i)).cast::<f32>();
        let rows = first(sizes) as usize;
        for row in (0..rows).map(|row| row * COLS) {
            normalise(buffer(0).add(row), buffer(2), buffer(3).add(row));
        }
        gate(buffer(1), buffer(3), rows * COLS);
    }
}

dispatch!(
    /// One row: `out = x * weight / sqrt(mean(x^2) + epsilon)`.
    fn normalise(x: *const f32, weight: *const f32, out: *mut f32) = normalise_lanes
);
dispatch!(
    /// `out = silu(gate) * out`, over `n` elements, a multiple of the columns.
    fn gate(gate: *const f32, out: *mut f32, n: usize) = gate_lanes
);

#[inline(always)]
unsafe fn normalise_lanes<L: Lanes>(x: *const f32, weight: *const f32, out: *mut f32) {
    unsafe {
        // Four chains hide the latency of the addition.
        let mut sums = [L::splat(0.0); 4];
        for i in (0..COLS).step_by(4 * L::N) {
            for (j, sum) in sums.iter_mut().enumerate() {
                let x = L::load(x.add(i + j * L::N));
                *sum = x.fma(x, *sum);
            }
        }
        let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum();
        let scale = L::splat(1.0 / (sum / COLS as f32 + EPSILON).sqrt());
        for i in (0..COLS).step_by(L::N) {
            L::load(x.add(i)).mul(scale).mul(L::load(weight.add(i))).store(out.add(i));
        }
    }
}

#[inline(always)]
unsafe fn gate_lanes<L: Lanes>(gate: *const f32, out: *mut f32, n: usize) {
    unsafe {
        let one = L::splat(1.0);
        for i in (0..n).step_by(L::N) {
            let g = L::load(gate.add(i));
            let silu = g.div(one.add(exp(L::splat(0.0).sub(g))));
            silu.mul(L::load(out.add(i))).store(out.add(i));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Buffer, assert_close, call, random};

    fn reference(x: &[f32], gate: &[f32], weight: &[f32]) -> Vec<f64> {
        let rows = x.chunks(COLS).zip(gate.chunks(COLS));
        rows.flat_map(|(x, gate)| {
            let mean = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / COLS as f64;
            let scale = 1.0 / (mean + 1e-6).sqrt();
            x.iter().zip(gate).zip(weight).map(move |((&x, &g), &w)| {
                let g = f64::from(g);
                g / (1.0 + (-g).exp()) * f64::from(x) * scale * f64::from(w)
            })
        })
        .collect()
    }

    #[test]
    fn rows_are_normalised_and_gated() {
        let weight = random(COLS, 1);
        for rows in [1, 2, 5] {
            let x = random(rows * COLS, 2);
            let mut gate = random(rows * COLS, 3);
            gate[..4].copy_from_slice(&[-100.0, 100.0, 0.0, -20.0]);
            let mut buffers = [Buffer::of(&x), Buffer::of(&gate), Buffer::of(&weight), Buffer::zeroed(4 * rows * COLS)];
            call("rms-norm-silu-two-pass", &mut buffers, &[rows as i64]);
            assert_close(&buffers[3].read::<f32>(), &reference(&x, &gate, &weight), 1e-6);
        }
    }

    #[test]
    fn rows_of_zeros_stay_zero() {
        let zeros = || Buffer::zeroed(4 * COLS);
        let mut buffers = [zeros(), zeros(), zeros(), Buffer::of(&vec![1.0_f32; COLS])];
        call("rms-norm-silu-two-pass", &mut buffers, &[1]);
        assert_eq!(buffers[3].read::<f32>(), vec![0.0; COLS]);
    }
}
