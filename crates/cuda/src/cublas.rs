//! cuBLAS, loaded at run time where it is, as a witness of the tensor cores' ceilings.
//!
//! Must not be needed: without it a figure has no witness and the map says so.

use crate::driver::{Buffer, Context, Handle, open, table};
use crate::error::CudaError;
use crate::nvrtc::library_folders;
use crate::operands::Format;
use crate::rig::Session;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::OnceLock;

/// The library's names.
const NAMES: [&str; 3] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
/// `CUDA_R_32I`
const R_32I: c_int = 10;
/// Products before the timed ones: the first chooses its kernel and loads it.
const WARM: usize = 3;

table! {
    /// The library's entries that are used.
    Library {
        create = "cublasCreate_v2"(*mut Handle);
        destroy = "cublasDestroy_v2"(Handle);
        set_stream = "cublasSetStream_v2"(Handle, Handle);
        gemm = "cublasGemmEx"(
            Handle, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int, *const c_void, c_int,
            c_int, *const c_void, *mut c_void, c_int, c_int, c_int, c_int,
        );
    }
}

fn library() -> Result<&'static Library, CudaError> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let load = || {
        let mut places: Vec<String> = NAMES.map(str::to_owned).into();
        for folder in library_folders() {
            places.extend(NAMES.map(|name| folder.join(name).to_string_lossy().into_owned()));
        }
        Library::of(open(&places)?).map_err(|symbol| format!("it lacks {symbol}"))
    };
    LIBRARY.get_or_init(load).as_ref().map_err(|why| CudaError::Wrong(format!("no cuBLAS: {why}")))
}

/// Numbers of the library's headers: operand type, result type, type to compute in.
fn types(format: Format) -> Option<[c_int; 3]> {
    /// `CUDA_R_32F`
    const R_32F: c_int = 0;
    /// `CUDA_R_16F`
    const R_16F: c_int = 2;
    /// `CUDA_R_8I`
    const R_8I: c_int = 3;
    /// `CUDA_R_16BF`
    const R_16BF: c_int = 14;
    /// `CUBLAS_COMPUTE_32F`
    const COMPUTE_32F: c_int = 68;
    /// `CUBLAS_COMPUTE_32I`
    const COMPUTE_32I: c_int = 72;
    /// `CUBLAS_COMPUTE_32F_FAST_TF32`
    const FAST_TF32: c_int = 77;
    match format {
        Format::F16 => Some([R_16F, R_16F, COMPUTE_32F]),
        Format::Bf16 => Some([R_16BF, R_16BF, COMPUTE_32F]),
        Format::Tf32 => Some([R_32F, R_32F, FAST_TF32]),
        Format::I8 => Some([R_8I, R_32I, COMPUTE_32I]),
        // Only the lighter library takes 8-bit floats.
        Format::F8 => None,
    }
}

/// The library's handle, given back when it goes.
struct Opened {
    library: &'static Library,
    handle: Handle,
    context: Rc<Context>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // After a launch that never ends this call would not come back.
        if self.context.answers() {
            // SAFETY: created once, destroyed once.
            unsafe { (self.library.destroy)(self.handle) };
        }
    }
}

/// Operations a second of a product of n x n matrices of random operands; the median of the plan's windows.
pub(crate) fn gemm(session: &mut Session, format: Format, n: usize) -> Result<f64, CudaError> {
    let types = types(format).ok_or_else(|| CudaError::Wrong("cublasGemmEx takes no 8-bit floats".to_owned()))?;
    let library = library()?;
    let mut handle: Handle = std::ptr::null_mut();
    // SAFETY: a pointer to a handle; then that handle and a stream of this context.
    let code = unsafe { (library.create)(&raw mut handle) };
    check("cublasCreate", code)?;
    let opened = Opened { library, handle, context: Rc::clone(&session.context) };
    check("cublasSetStream", unsafe { (library.set_stream)(handle, session.stream.handle) })?;
    let (a, b) = (session.buffer(n * n * format.bytes())?, session.buffer(n * n * format.bytes())?);
    session.fill(&a, format.masks())?;
    session.fill(&b, format.masks())?;
    // Results have at most 4 bytes.
    let c = session.buffer(4 * n * n)?;
    let mut rates = Vec::new();
    for i in 0..WARM + session.plan.windows {
        let took = session.timed(|_| product(&opened, [&a, &b, &c], types, n as c_int))?;
        if i >= WARM {
            rates.push(2.0 * (n as f64).powi(3) / took);
        }
    }
    Ok(stats::robust::median(&rates))
}

fn check(call: &str, code: c_int) -> Result<(), CudaError> {
    if code == 0 { Ok(()) } else { Err(CudaError::Wrong(format!("{call}: status {code}"))) }
}

fn product(
    opened: &Opened,
    [a, b, c]: [&Buffer; 3],
    [operand, result, compute]: [c_int; 3],
    n: c_int,
) -> Result<(), CudaError> {
    /// `CUBLAS_OP_N`
    const PLAIN: c_int = 0;
    /// `CUBLAS_OP_T`: with it both operands run along K, the only form that bytes take.
    const TRANSPOSED: c_int = 1;
    /// `CUBLAS_GEMM_DEFAULT`
    const DEFAULT: c_int = -1;
    let at = |buffer: &Buffer| buffer.address() as usize as *mut c_void;
    // 1 and 0, which as integers and as floats differ in their bits; 0 does not.
    let one: u32 = if result == R_32I { 1 } else { 1.0_f32.to_bits() };
    let (alpha, beta) = (std::ptr::from_ref(&one).cast(), std::ptr::from_ref(&0_u32).cast());
    // SAFETY: matrices of n x n elements of these types, in this context's memory; scalars that outlive the call.
    let code = unsafe {
        (opened.library.gemm)(
            opened.handle,
            TRANSPOSED,
            PLAIN,
            n,
            n,
            n,
            alpha,
            at(a),
            operand,
            n,
            at(b),
            operand,
            n,
            beta,
            at(c),
            result,
            n,
            compute,
            DEFAULT,
        )
    };
    check("cublasGemmEx", code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_but_one_has_its_types() {
        let known: Vec<Format> = Format::ALL.into_iter().filter(|format| types(*format).is_some()).collect();
        assert_eq!(known, [Format::F16, Format::Bf16, Format::Tf32, Format::I8]);
    }
}
