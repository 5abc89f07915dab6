//! The compiled oracle: float64 answers, and the same in f32 to learn what f32 can do.
//!
//! Trusted code, written by the problem's author. Must never be loaded where a candidate runs.

use crate::{Problem, ProblemError};
use libloading::Library;
use model::Workload;
use std::ffi::c_void;
use std::path::Path;

type Entry<Real> = unsafe extern "C" fn(*const *const c_void, *const i64, *const i64, i64, *mut Real);

/// A problem's oracle, loaded.
pub struct Oracle {
    problem: Problem,
    f64: Entry<f64>,
    f32: Entry<f32>,
    // Keeps the two entries mapped.
    _library: Library,
}

impl Oracle {
    /// Loads the library compiled from [`Problem::oracle_unit`] of this very problem.
    ///
    /// # Errors
    /// When it can't be loaded or lacks one of the two functions.
    pub fn open(problem: &Problem, path: &Path) -> Result<Self, ProblemError> {
        let failed = |e: libloading::Error| ProblemError::Oracle { problem: problem.name.clone(), why: e.to_string() };
        // SAFETY: the problem's author is trusted, and so is the compiler that made this file.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        // SAFETY: the types are those that `oracle_unit` generates.
        let (f64, f32) = unsafe {
            (
                *library.get::<Entry<f64>>(b"rooflab_oracle_f64\0").map_err(failed)?,
                *library.get::<Entry<f32>>(b"rooflab_oracle_f32\0").map_err(failed)?,
            )
        };
        Ok(Self { problem: problem.clone(), f64, f32, _library: library })
    }

    /// The rows `rows` of the output, in double, one after the other in `out`.
    ///
    /// `inputs` are the drawn arguments in order ([`Problem::inputs`]).
    ///
    /// # Panics
    /// When an input's size or alignment, a row number or the size of `out` is not the workload's.
    pub fn rows_f64(&self, workload: &Workload, inputs: &[&[u8]], rows: &[i64], out: &mut [f64]) {
        self.call(self.f64, workload, inputs, (rows, out));
    }

    /// The same rows as f32 arithmetic gives them.
    ///
    /// # Panics
    /// As [`Self::rows_f64`].
    pub fn rows_f32(&self, workload: &Workload, inputs: &[&[u8]], rows: &[i64], out: &mut [f32]) {
        self.call(self.f32, workload, inputs, (rows, out));
    }

    fn call<Real>(
        &self,
        entry: Entry<Real>,
        workload: &Workload,
        inputs: &[&[u8]],
        (rows, out): (&[i64], &mut [Real]),
    ) {
        let bytes = self.problem.workload_bytes(workload);
        let drawn = self.problem.inputs();
        assert_eq!(inputs.len(), drawn.len(), "inputs of {}", self.problem.name);
        for (input, argument) in inputs.iter().zip(drawn) {
            assert_eq!(input.len(), bytes[argument], "bytes of argument {argument}");
            assert_eq!(input.as_ptr().align_offset(8), 0, "argument {argument} is not aligned to 8 bytes");
        }
        let count = self.problem.rows(workload) as i64;
        assert!(rows.iter().all(|row| (0..count).contains(row)), "rows outside 0..{count}");
        let row_length = self.problem.row_length(workload);
        assert_eq!(out.len(), rows.len() * row_length, "elements of the answer");
        let pointers: Vec<*const c_void> = inputs.iter().map(|input| input.as_ptr().cast()).collect();
        let mut sizes = self.problem.sizes(workload);
        sizes.push(row_length as i64);
        // SAFETY: sizes, alignment and rows have just been checked against what the oracle's shapes say.
        unsafe { entry(pointers.as_ptr(), sizes.as_ptr(), rows.as_ptr(), rows.len() as i64, out.as_mut_ptr()) }
    }
}
