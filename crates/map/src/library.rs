//! A vendor's matrix product as witness of the matrix unit: oneDNN, where the system has it. Found by its file's name
//! while the program runs, never linked; without it a figure has one witness less.
//!
//! Must not be asked by more than one thread: the library starts as many threads as the caller's thread has cores, so
//! it is loaded by a thread that is bound to one.

use crate::random::Random;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Rows, columns and depth of the product: operands of 3.5 MB, and enough products to hide the edges.
pub(crate) const SIZE: usize = 768;
/// Files that the library is known by, the newest first.
const FILES: [&CStr; 3] = [c"libdnnl.so.3", c"libdnnl.so.2", c"libdnnl.so"];
/// C = A B of bf16 into f32 (oneDNN's `dnnl_gemm_bf16bf16f32`; sizes are 64-bit).
const FUNCTION: &CStr = c"dnnl_gemm_bf16bf16f32";

/// transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc; 0 is success.
type Product = unsafe extern "C" fn(
    c_char,
    c_char,
    i64,
    i64,
    i64,
    f32,
    *const u16,
    i64,
    *const u16,
    i64,
    f32,
    *mut f32,
    i64,
) -> c_int;

/// The library's product on operands of its own.
pub(crate) struct Library {
    product: Product,
    a: Vec<u16>,
    b: Vec<u16>,
    c: Vec<f32>,
}

impl Library {
    /// Finds the library and draws operands. Call it on the thread that runs it, bound to one core.
    pub(crate) fn find(random: &mut Random) -> Result<Self, String> {
        let function = symbol().ok_or("the system has no oneDNN (libdnnl.so)")?;
        // SAFETY: the function of this name has this signature in every version of the library since its first.
        let product = unsafe { std::mem::transmute::<*mut c_void, Product>(function) };
        let mut draw = || (0..SIZE * SIZE).map(|_| (random.normal().to_bits() >> 16) as u16).collect();
        let mut library = Self { product, a: draw(), b: draw(), c: vec![0.0; SIZE * SIZE] };
        library.run()?;
        Ok(library)
    }

    /// FLOP of one product.
    pub(crate) fn flop() -> f64 {
        2.0 * (SIZE as f64).powi(3)
    }

    /// One product.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let (n, no) = (SIZE as i64, b'N' as c_char);
        // SAFETY: the matrices are as large as the call is told.
        let status = unsafe {
            let (a, b, c) = (self.a.as_ptr(), self.b.as_ptr(), self.c.as_mut_ptr());
            (self.product)(no, no, n, n, n, 1.0, a, n, b, n, 0.0, c, n)
        };
        std::hint::black_box(self.c.as_ptr());
        if status == 0 { Ok(()) } else { Err(format!("oneDNN refused the product: status {status}")) }
    }
}

#[cfg(target_os = "linux")]
fn symbol() -> Option<*mut c_void> {
    FILES.iter().find_map(|file| {
        // SAFETY: the library's constructors run; it stays loaded until the process ends.
        unsafe {
            let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            (!library.is_null()).then(|| libc::dlsym(library, FUNCTION.as_ptr()))
        }
        .filter(|function| !function.is_null())
    })
}

/// Looked for on Linux only.
#[cfg(not(target_os = "linux"))]
fn symbol() -> Option<*mut c_void> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_multiplies_or_is_not_there() {
        let mut random = Random::from_seed(1);
        let Ok(mut library) = Library::find(&mut random) else { return };
        let wide = |x: u16| f64::from(f32::from_bits(u32::from(x) << 16));
        library.run().unwrap();
        let expected: f64 = (0..SIZE).map(|k| wide(library.a[5 * SIZE + k]) * wide(library.b[k * SIZE + 7])).sum();
        let actual = f64::from(library.c[5 * SIZE + 7]);
        assert!((actual - expected).abs() < 0.05, "{actual}, expected {expected}");
    }
}
