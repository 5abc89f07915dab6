//! What the tests of this crate share: data, distances, and a call with typed buffers.

use crate::find;

/// Pseudo-random numbers, roughly normal, from a counter (SplitMix64).
pub(crate) fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / 16_777_216.0
    };
    (0..n).map(|_| (0..6).map(|_| uniform() - 0.5).sum::<f32>() * 1.4).collect()
}

/// Distance in units of the last place; 0 for equal numbers, the largest for one that is not a number.
pub(crate) fn ulps(a: f32, b: f32) -> u32 {
    if a.is_nan() || b.is_nan() {
        return u32::MAX;
    }
    let line = |x: f32| {
        let bits = x.to_bits() as i32;
        i64::from(if bits < 0 { i32::MIN - bits } else { bits })
    };
    u32::try_from((line(a) - line(b)).abs()).unwrap_or(u32::MAX)
}

/// Memory aligned to 64 bytes, filled with `values`.
pub(crate) struct Buffer(Vec<[u64; 8]>, usize);

#[repr(align(64))]
struct Line;

impl Buffer {
    /// A buffer that holds `values`.
    pub(crate) fn of<T: Copy>(values: &[T]) -> Self {
        let bytes = std::mem::size_of_val(values);
        let mut buffer = Self::zeroed(bytes);
        // SAFETY: the buffer was made as large.
        unsafe { buffer.pointer().copy_from_nonoverlapping(values.as_ptr().cast(), bytes) };
        buffer
    }

    /// A buffer of zero bytes.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self(vec![[0; 8]; bytes.div_ceil(64) + 1], bytes)
    }

    /// Its first byte on a line of its own.
    pub(crate) fn pointer(&mut self) -> *mut u8 {
        let start = self.0.as_mut_ptr().cast::<u8>();
        start.wrapping_add(start.align_offset(std::mem::align_of::<Line>()))
    }

    /// Its content.
    pub(crate) fn read<T: Copy>(&mut self) -> Vec<T> {
        let n = self.1 / size_of::<T>();
        // SAFETY: as many elements were allocated.
        unsafe { std::slice::from_raw_parts(self.pointer().cast::<T>(), n).to_vec() }
    }
}

/// Warms the kernel named and calls it.
pub(crate) fn call(name: &str, buffers: &mut [Buffer], sizes: &[i64]) {
    let kernel = find(name).expect("a kernel of this crate");
    (kernel.warm)();
    let pointers: Vec<*mut u8> = buffers.iter_mut().map(Buffer::pointer).collect();
    // SAFETY: the tests make the buffers that the kernel documents.
    unsafe { (kernel.entry)(pointers.as_ptr(), sizes.as_ptr()) };
}

/// Fails unless every element is near its expected value, on the scale of the largest.
pub(crate) fn assert_close(actual: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(actual.len(), expected.len());
    let scale = expected.iter().fold(1e-30_f64, |a, b| a.max(b.abs()));
    for (i, (&a, &e)) in actual.iter().zip(expected).enumerate() {
        assert!((a as f64 - e).abs() <= tolerance * scale, "element {i}: {a}, expected {e}");
    }
}
