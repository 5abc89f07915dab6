//! The CUDA driver, loaded at run time: one table of entry points, and safe types over it.
//!
//! Must not compile or measure. One context a process and device, the device's primary one.

mod context;
mod device;
mod graph;
mod memory;
mod module;
mod table;

pub use context::{Context, Event, Stream};
pub use device::{Attribute, Device};
pub(crate) use graph::Graph;
pub(crate) use memory::Buffer;
pub use module::{Function, Launch, Module};
pub(crate) use table::{Handle, table};

use crate::error::CudaError;
use libloading::Library;
use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use table::Table;

/// Where the driver's library is looked for, in this order. The last two: where containers and WSL have it.
const NAMES: [&str; 4] =
    ["libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"];

/// The driver.
pub struct Driver {
    pub(crate) table: Table,
    /// 1000 x major + 10 x minor of the CUDA that it speaks.
    pub(crate) version: i32,
}

/// This process's driver, loaded and started at the first call.
pub(crate) fn driver() -> Result<&'static Driver, CudaError> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    DRIVER.get_or_init(|| load(&NAMES)).as_ref().map_err(|why| CudaError::NoDriver { why: why.clone() })
}

/// The first of these libraries that loads, as a driver that has started.
pub(crate) fn load(names: &[&str]) -> Result<Driver, String> {
    let library = open(names)?;
    let table = Table::of(library).map_err(|symbol| format!("the driver lacks {symbol}: it is older than CUDA 12"))?;
    let mut version = 0;
    // SAFETY: no flags; then a pointer to a number that lives here.
    let started = unsafe { (table.init)(0) };
    unsafe { (table.driver_version)(&raw mut version) };
    let driver = Driver { table, version };
    driver.check("cuInit", started).map_err(|error| error.to_string())?;
    Ok(driver)
}

/// The first that loads; else what the loader said of each.
pub(crate) fn open<N: AsRef<str>>(names: &[N]) -> Result<Library, String> {
    let mut said = Vec::new();
    for name in names {
        // SAFETY: NVIDIA's libraries run no code of consequence when they are loaded.
        match unsafe { Library::new(name.as_ref()) } {
            Ok(library) => return Ok(library),
            // The error's own words are that the loader failed; what the loader said is its cause.
            Err(error) => said.push(error.source().map_or_else(|| error.to_string(), ToString::to_string)),
        }
    }
    Err(said.join("; "))
}

impl Driver {
    /// An error unless `code` is 0.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<(), CudaError> {
        if code == 0 {
            return Ok(());
        }
        let words = |of: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: a pointer to a pointer; what comes back is a constant string or null.
            unsafe { of(code, &raw mut text) };
            // SAFETY: as above.
            if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
        };
        let (name, text) = (words(self.table.error_name), words(self.table.error_string));
        let name = if name.is_empty() { format!("error {code}") } else { name };
        Err(CudaError::Call { call, name, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_said_plainly() {
        let why = load(&["libno-such-driver.so.1", "libnor-this.so"]).err().unwrap_or_default();
        assert!(why.contains("libno-such-driver.so.1") && why.contains("libnor-this.so"), "{why}");
        let error = CudaError::NoDriver { why };
        assert!(error.to_string().starts_with("no CUDA driver here"), "{error}");
    }

    #[test]
    fn another_library_is_no_driver() {
        let why = load(&["libc.so.6"]).err().unwrap_or_default();
        assert!(why.contains("lacks cuInit"), "{why}");
    }
}
