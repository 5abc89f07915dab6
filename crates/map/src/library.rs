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
/// What is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// C = A B of bf16 into f32 (oneDNN's `dnnl_gemm_bf16bf16f32`; sizes are 64-bit).
    Bf16,
    /// C = A B of unsigned by signed bytes into 32 bits (`dnnl_gemm_u8s8s32`).
    Byte,
}

/// transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc; 0 is success.
type OfBf16 = unsafe extern "C" fn(
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

/// transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co; 0 is success.
type OfBytes = unsafe extern "C" fn(
    c_char,
    c_char,
    c_char,
    i64,
    i64,
    i64,
    f32,
    *const u8,
    i64,
    u8,
    *const i8,
    i64,
    i8,
    f32,
    *mut i32,
    i64,
    *const i32,
) -> c_int;

/// The library's function.
#[derive(Clone, Copy)]
enum Product {
    Bf16(OfBf16),
    Byte(OfBytes),
}

/// The library's product on operands of its own.
pub(crate) struct Library {
    product: Product,
    /// Operands of two bytes; bytes take the first half.
    a: Vec<u16>,
    b: Vec<u16>,
    /// f32 or i32.
    c: Vec<f32>,
}

impl Library {
    /// Finds the library and draws operands. Call it on the thread that runs it, bound to one core.
    pub(crate) fn find(element: Element, random: &mut Random) -> Result<Self, String> {
        let name = match element {
            Element::Bf16 => c"dnnl_gemm_bf16bf16f32",
            Element::Byte => c"dnnl_gemm_u8s8s32",
        };
        let function = symbol(name).ok_or("the system has no oneDNN (libdnnl.so)")?;
        // SAFETY: the functions of these names have these signatures in every version of the library that has them.
        let product = unsafe {
            match element {
                Element::Bf16 => Product::Bf16(std::mem::transmute::<*mut c_void, OfBf16>(function)),
                Element::Byte => Product::Byte(std::mem::transmute::<*mut c_void, OfBytes>(function)),
            }
        };
        // Bytes below 128, so that no older unit saturates.
        let mut draw = || match element {
            Element::Bf16 => (random.normal().to_bits() >> 16) as u16,
            Element::Byte => random.bits() as u16 & 0x7F7F,
        };
        let mut draw = || (0..SIZE * SIZE).map(|_| draw()).collect();
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
        let (n, no, fixed) = (SIZE as i64, b'N' as c_char, b'F' as c_char);
        let (a, b, c) = (self.a.as_ptr(), self.b.as_ptr(), self.c.as_mut_ptr());
        // SAFETY: the matrices are as large as the call is told.
        let status = unsafe {
            match self.product {
                Product::Bf16(product) => product(no, no, n, n, n, 1.0, a, n, b, n, 0.0, c, n),
                Product::Byte(product) => {
                    product(no, no, fixed, n, n, n, 1.0, a.cast(), n, 0, b.cast(), n, 0, 0.0, c.cast(), n, &0)
                }
            }
        };
        std::hint::black_box(self.c.as_ptr());
        if status == 0 { Ok(()) } else { Err(format!("oneDNN refused the product: status {status}")) }
    }
}

#[cfg(target_os = "linux")]
fn symbol(name: &CStr) -> Option<*mut c_void> {
    FILES.iter().find_map(|file| {
        // SAFETY: the library's constructors run; it stays loaded until the process ends.
        unsafe {
            let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            (!library.is_null()).then(|| libc::dlsym(library, name.as_ptr()))
        }
        .filter(|function| !function.is_null())
    })
}

/// Looked for on Linux only.
#[cfg(not(target_os = "linux"))]
fn symbol(_: &CStr) -> Option<*mut c_void> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_multiplies_or_is_not_there() {
        let mut random = Random::from_seed(1);
        let Ok(mut library) = Library::find(Element::Bf16, &mut random) else { return };
        let wide = |x: u16| f64::from(f32::from_bits(u32::from(x) << 16));
        library.run().unwrap();
        let expected: f64 = (0..SIZE).map(|k| wide(library.a[5 * SIZE + k]) * wide(library.b[k * SIZE + 7])).sum();
        let actual = f64::from(library.c[5 * SIZE + 7]);
        assert!((actual - expected).abs() < 0.05, "{actual}, expected {expected}");
    }

    #[test]
    fn the_library_multiplies_bytes_or_is_not_there() {
        let Ok(library) = Library::find(Element::Byte, &mut Random::from_seed(2)) else { return };
        let byte = |words: &[u16], at: usize| i32::from(words[at / 2].to_le_bytes()[at % 2]);
        let expected: i32 = (0..SIZE).map(|k| byte(&library.a, 5 * SIZE + k) * byte(&library.b, k * SIZE + 7)).sum();
        assert_eq!(library.c[5 * SIZE + 7].to_bits() as i32, expected);
    }
}
