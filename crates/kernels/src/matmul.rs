//! `matmul-gemm`, the stock baseline of matmul-small-m: the `gemm` crate's product as a library would call it.
//!
//! `matmul-gemm-f64` is the same in double precision, and nobody's baseline: a witness of the f64 ceiling.
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
pub(crate) struct Matrix<T = f32> {
    pub(crate) data: *mut T,
    /// Elements from one row to the next.
    pub(crate) rows: usize,
    /// Elements from one column to the next.
    pub(crate) columns: usize,
}

/// `out = factor * a * b` on one thread, for out `[m][n]` and depth `k`.
///
/// # Safety
/// The matrices must hold as many elements, and `out` must not overlap the others.
pub(crate) unsafe fn product<T: Copy + Default + 'static>(
    [m, n, k]: [usize; 3],
    out: Matrix<T>,
    a: Matrix<T>,
    b: Matrix<T>,
    factor: T,
) {
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
            T::default(),
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

/// `matmul-gemm-f64`.
pub(crate) unsafe fn matmul_gemm_f64(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let matrix = |i: usize, rows| Matrix::<f64> { data: (*buffers.add(i)).cast(), rows, columns: 1 };
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
    #[test]
    fn double_products_are_right() {
        let (x, w) = (random(2 * K, 3), random(K * N, 4));
        let wide = |a: &[f32]| a.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let mut buffers = [Buffer::of(&wide(&x)), Buffer::of(&wide(&w)), Buffer::zeroed(64), Buffer::zeroed(8 * 2 * N)];
        call("matmul-gemm-f64", &mut buffers, &[2]);
        let y: Vec<f64> = buffers[3].read();
        for (row, column) in [(0, 0), (1, 17), (1, N - 1)] {
            let expected: f64 = (0..K).map(|k| f64::from(x[row * K + k]) * f64::from(w[k * N + column])).sum();
            assert!((y[row * N + column] - expected).abs() < 1e-10, "{row}, {column}");
        }
    }
}
