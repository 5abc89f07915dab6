//! `matmul-gemm`, the stock baseline of matmul-small-m: the `gemm` crate's product as a library would call it.
//!
//! Buffers `[x, w, packed, y]`, sizes `[m]`: y[m][N] = x[m][K] w[K][N]. `packed` is not used: a stock library that is
//! handed plain weights packs what it needs on every call.

use crate::registry::first;

/// Depth of the product.
pub(crate) const K: usize = 1024;
/// Columns of the weights.
pub(crate) const N: usize = 3072;

/// A matrix in memory: element (i, j) lies at `i * rows + j * columns`.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) data: *mut f32,
    /// Elements from one row to the next.
    pub(crate) rows: usize,
    /// Elements from one column to the next.
    pub(crate) columns: usize,
}

/// `out = factor * a * b` on one thread, for out `[m][n]` and depth `k`.
///
/// # Safety
/// The matrices must hold as many elements, and `out` must not overlap the others.
pub(crate) unsafe fn product([m, n, k]: [usize; 3], out: Matrix, a: Matrix, b: Matrix, factor: f32) {
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.data,
            out.columns as isize,
            out.rows as isize,
            false,
            a.data,
            a.columns as isize,
            a.rows as isize,
            b.data,
            b.columns as isize,
            b.rows as isize,
            0.0,
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// `matmul-gemm`.
pub(crate) unsafe fn matmul_gemm(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let matrix = |i: usize, rows| Matrix { data: (*buffers.add(i)).cast(), rows, columns: 1 };
        product([first(sizes) as usize, N, K], matrix(3, N), matrix(0, K), matrix(1, N), 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Buffer, assert_close, call, random};

    #[test]
    fn products_are_right() {
        let w = random(K * N, 1);
        for m in [1, 3, 16] {
            let x = random(m * K, 2);
            let mut buffers = [Buffer::of(&x), Buffer::of(&w), Buffer::zeroed(64), Buffer::zeroed(4 * m * N)];
            call("matmul-gemm", &mut buffers, &[m as i64]);
            let mut expected = vec![0.0_f64; m * N];
            for (row, out) in expected.chunks_mut(N).enumerate() {
                for (&x, w) in x[row * K..].iter().zip(w.chunks(N)) {
                    out.iter_mut().zip(w).for_each(|(y, &w)| *y += f64::from(x) * f64::from(w));
                }
            }
            assert_close(&buffers[3].read::<f32>(), &expected, 1e-5);
        }
    }
}
