//! `attention-gemm`, the stock baseline of attention-prefill: matrix products by the `gemm` crate, and a vectorised
//! softmax between.
//!
//! Buffers `[q, k, v, out, scratch]`, sizes `[len]`. The queries are taken in blocks of [`ROWS`], each against the keys
//! that it can see, so that most of the causal half is saved and the scores stay in the cache. `scratch` is not used:
//! the scores need padded rows, for which this thread keeps its own memory.
#![expect(clippy::inline_always, reason = "an intrinsic inlines only where the target feature is enabled")]

use crate::exp::exp;
use crate::lanes::{Lanes, dispatch};
use crate::matmul::{Matrix, product};
use crate::registry::first;
use std::cell::RefCell;

/// Query heads.
pub(crate) const HEADS_Q: usize = 16;
/// Key and value heads.
pub(crate) const HEADS_KV: usize = 8;
/// Elements of a head.
pub(crate) const DIM: usize = 128;
/// Queries of a block. 32 packs the keys too often, 96 and 128 waste the masked half of the diagonal; 48 and 64 were the
/// fastest at lengths 128 to 1,024 on a 2.8 GHz AVX-512 core (1.16, 3.46, 11.8 and 42.5 ms at 128, 256, 512 and 1,024).
const ROWS: usize = 48;
/// Rows of scores are padded to the widest register.
const PAD: usize = 16;
/// A masked score: far below any real one, and still finite.
const MASKED: f32 = -1e30;

thread_local! {
    /// The scores of one block, row by row.
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Length up to which `attention` needs no more memory than `reserve` took.
pub(crate) const RESERVED_LEN: usize = 4096;

/// Takes the scratch memory of this thread.
pub(crate) fn reserve() {
    SCORES.with_borrow_mut(|scores| grow(scores, RESERVED_LEN));
}

fn grow(scores: &mut Vec<f32>, len: usize) {
    let needed = ROWS * len.next_multiple_of(PAD) + PAD;
    if scores.len() < needed {
        scores.resize(needed, 0.0);
    }
}

/// `attention-gemm`.
pub(crate) unsafe fn attention_gemm(buffers: *const *mut u8, sizes: *const i64) {
    let len = unsafe { first(sizes) } as usize;
    SCORES.with_borrow_mut(|scores| {
        grow(scores, len);
        let start = scores.as_ptr().align_offset(64).min(PAD);
        let scores = scores[start..].as_mut_ptr();
        for head in 0..HEADS_Q {
            let kv = head / (HEADS_Q / HEADS_KV);
            // SAFETY: the caller's buffers hold every head.
            unsafe {
                let head_of = |i: usize, head: usize| (*buffers.add(i)).cast::<f32>().add(head * len * DIM);
                let tensors = [head_of(0, head), head_of(1, kv), head_of(2, kv), head_of(3, head)];
                for from in (0..len).step_by(ROWS) {
                    block(tensors, from, ROWS.min(len - from), scores);
                }
            }
        }
    });
}

/// Queries `from..from + rows` of one head.
unsafe fn block([q, k, v, out]: [*mut f32; 4], from: usize, rows: usize, scores: *mut f32) {
    let keys = from + rows;
    let stride = keys.next_multiple_of(PAD);
    let row_major = |data, rows| Matrix { data, rows, columns: 1 };
    let p = row_major(scores, stride);
    unsafe {
        let q = row_major(q.add(from * DIM), DIM);
        let k_transposed = Matrix { data: k, rows: 1, columns: DIM };
        product([rows, keys, DIM], p, q, k_transposed, 1.0 / (DIM as f32).sqrt());
        let mut inverse_sums = [0.0; ROWS];
        softmax(scores, stride, from, rows, inverse_sums.as_mut_ptr());
        let out = out.add(from * DIM);
        product([rows, DIM, keys], row_major(out, DIM), p, row_major(v, DIM), 1.0);
        scale(out, inverse_sums.as_ptr(), rows);
    }
}

dispatch!(
    /// exp(score - largest) over the visible part of each row, 0 over the rest, and 1 / sum for later.
    fn softmax(scores: *mut f32, stride: usize, from: usize, rows: usize, inverse_sums: *mut f32) = softmax_lanes
);
dispatch!(
    /// Multiplies each row of the output by its factor.
    fn scale(out: *mut f32, factors: *const f32, rows: usize) = scale_lanes
);

#[inline(always)]
unsafe fn softmax_lanes<L: Lanes>(scores: *mut f32, stride: usize, from: usize, rows: usize, inverse_sums: *mut f32) {
    for row in 0..rows {
        unsafe {
            let scores = scores.add(row * stride);
            let visible = from + row + 1;
            let padded = visible.next_multiple_of(PAD);
            (visible..padded).for_each(|j| *scores.add(j) = MASKED);
            let largest = L::splat(largest::<L>(scores, padded));
            let mut sums = [L::splat(0.0); 2];
            let mut j = 0;
            // Two chains at least, at any width: a padded row is a multiple of 16.
            while j < padded {
                for i in 0..PAD / L::N {
                    let e = exp(L::load(scores.add(j + i * L::N)).sub(largest));
                    e.store(scores.add(j + i * L::N));
                    sums[i % 2] = sums[i % 2].add(e);
                }
                j += PAD;
            }
            (padded..stride).for_each(|j| *scores.add(j) = 0.0);
            *inverse_sums.add(row) = 1.0 / sums[0].add(sums[1]).sum();
        }
    }
}

#[inline(always)]
unsafe fn largest<L: Lanes>(scores: *const f32, n: usize) -> f32 {
    unsafe {
        let mut largest = L::load(scores);
        for j in (L::N..n).step_by(L::N) {
            largest = largest.max(L::load(scores.add(j)));
        }
        largest.largest()
    }
}

#[inline(always)]
unsafe fn scale_lanes<L: Lanes>(out: *mut f32, factors: *const f32, rows: usize) {
    for row in 0..rows {
        unsafe {
            let factor = L::splat(*factors.add(row));
            for d in (row * DIM..(row + 1) * DIM).step_by(L::N) {
                L::load(out.add(d)).mul(factor).store(out.add(d));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Buffer, assert_close, call, random};

    /// One row by the definition, in f64.
    fn row(q: &[f32], k: &[f32], v: &[f32], i: usize) -> Vec<f64> {
        let dot = |j: usize| -> f64 {
            (0..DIM).map(|d| f64::from(q[i * DIM + d]) * f64::from(k[j * DIM + d])).sum::<f64>() / (DIM as f64).sqrt()
        };
        let scores: Vec<f64> = (0..=i).map(dot).collect();
        let largest = scores.iter().fold(f64::MIN, |a, &b| a.max(b));
        let e: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
        let sum: f64 = e.iter().sum();
        (0..DIM).map(|d| e.iter().enumerate().map(|(j, e)| e * f64::from(v[j * DIM + d])).sum::<f64>() / sum).collect()
    }

    fn check(len: usize, scale: f32) {
        let size = len * DIM;
        let q: Vec<f32> = random(HEADS_Q * size, 1).iter().map(|x| x * scale).collect();
        let (k, v) = (random(HEADS_KV * size, 2), random(HEADS_KV * size, 3));
        let mut buffers =
            [Buffer::of(&q), Buffer::of(&k), Buffer::of(&v), Buffer::zeroed(4 * q.len()), Buffer::zeroed(64)];
        call("attention-gemm", &mut buffers, &[len as i64]);
        let out: Vec<f32> = buffers[3].read();
        for head in [0, 1, 6, 15] {
            let kv = head / 2 * size;
            for i in (0..len).filter(|i| len < 40 || i % 13 == 0 || *i >= len - 3) {
                let expected = row(&q[head * size..][..size], &k[kv..][..size], &v[kv..][..size], i);
                assert_close(&out[head * size + i * DIM..][..DIM], &expected, 1e-5);
            }
        }
    }

    #[test]
    fn attention_is_right_at_every_kind_of_length() {
        for len in [1, 2, 15, 16, 17, 63, 64, 65, 128, 130] {
            check(len, 1.0);
        }
    }

    #[test]
    fn large_scores_do_not_overflow() {
        check(33, 300.0);
    }
}
