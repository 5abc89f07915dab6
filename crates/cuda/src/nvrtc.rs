//! NVRTC, NVIDIA's run-time compiler, loaded at run time: CUDA C++ in, machine code of one architecture out.
//!
//! Needs no device. Must not be given a candidate's source in a process that holds anything worth having: a compiler is
//! not a wall.

use crate::driver::{Handle, open, table};
use crate::error::CudaError;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names a file that is the compiler.
const VARIABLE: &str = "ROOFLAB_NVRTC";
/// The library's names, the newest first: cubins of an old compiler run on a new driver, not the other way.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

table! {
    /// The compiler's entries that are used.
    Compiler {
        version = "nvrtcVersion"(*mut c_int, *mut c_int);
        create = "nvrtcCreateProgram"(
            *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char,
        );
        destroy = "nvrtcDestroyProgram"(*mut Handle);
        compile = "nvrtcCompileProgram"(Handle, c_int, *const *const c_char);
        log_size = "nvrtcGetProgramLogSize"(Handle, *mut usize);
        log = "nvrtcGetProgramLog"(Handle, *mut c_char);
        cubin_size = "nvrtcGetCUBINSize"(Handle, *mut usize);
        cubin = "nvrtcGetCUBIN"(Handle, *mut c_char);
    }
}

fn compiler() -> Result<&'static Compiler, CudaError> {
    static COMPILER: OnceLock<Result<Compiler, String>> = OnceLock::new();
    let load = || {
        let library = open_with_parts(&places())?;
        Compiler::of(library).map_err(|symbol| format!("the compiler lacks {symbol}"))
    };
    COMPILER.get_or_init(load).as_ref().map_err(|why| CudaError::NoCompiler { why: why.clone() })
}

/// The first that loads, after what it wants beside it: named by its path, the loader does not look for that there.
fn open_with_parts(places: &[String]) -> Result<Library, String> {
    for place in places.iter().filter(|place| place.contains('/')) {
        for part in parts(Path::new(place)) {
            // The compiler asks for it by name and gets the one that is there; kept for the life of the process.
            if let Ok(part) = open(&[part.to_string_lossy()]) {
                std::mem::forget(part);
            }
        }
    }
    open(places)
}

/// The compiler's own parts in its folder, where it is there.
fn parts(compiler: &Path) -> Vec<PathBuf> {
    let Some(folder) = compiler.parent().filter(|_| compiler.is_file()) else { return Vec::new() };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let is_part = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("libnvrtc-builtins.so")
    };
    files.filter(is_part).collect()
}

/// Where the compiler may lie: the variable's file, the loader's path, the toolkit's folders, Python's packages.
fn places() -> Vec<String> {
    let mut places: Vec<String> = std::env::var(VARIABLE).into_iter().collect();
    places.extend(NAMES.map(str::to_owned));
    for folder in library_folders() {
        places.extend(NAMES.map(|name| folder.join(name).to_string_lossy().into_owned()));
    }
    places
}

/// Folders of NVIDIA's libraries that the loader may not know.
pub(crate) fn library_folders() -> Vec<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let toolkits = homes.chain([PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")]);
    let mut folders: Vec<PathBuf> = toolkits.map(|home| home.join("lib64")).collect();
    // A virtual environment's packages: lib/python3.X/site-packages/nvidia/{cu13,cuda_nvrtc,cublas}/lib.
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        let pythons = std::fs::read_dir(PathBuf::from(environment).join("lib"));
        for python in pythons.into_iter().flatten().flatten() {
            let packages = python.path().join("site-packages/nvidia");
            folders.extend(["cu13", "cuda_nvrtc", "cublas"].map(|package| packages.join(package).join("lib")));
        }
    }
    folders
}

/// `13.0`, of the compiler that is here.
///
/// # Errors
/// When there is none.
pub fn version() -> Result<String, CudaError> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: pointers to numbers.
    unsafe { (compiler()?.version)(&raw mut major, &raw mut minor) };
    Ok(format!("{major}.{minor}"))
}

/// A program of the compiler's, destroyed when it goes.
struct Program {
    compiler: &'static Compiler,
    handle: Handle,
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.compiler.destroy)(&raw mut self.handle) };
    }
}

impl Program {
    /// What the compiler said.
    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: a pointer to a number, then a buffer of that size.
        unsafe { (self.compiler.log_size)(self.handle, &raw mut size) };
        let mut log = vec![0_u8; size.max(1)];
        unsafe { (self.compiler.log)(self.handle, log.as_mut_ptr().cast()) };
        CStr::from_bytes_until_nul(&log).map_or_else(|_| String::new(), |log| log.to_string_lossy().trim().to_owned())
    }
}

/// Machine code of one source, `name` in messages, for an architecture such as `sm_90a`.
///
/// # Errors
/// When there is no compiler, or it refuses the source.
pub fn compile(name: &str, source: &str, architecture: &str) -> Result<Vec<u8>, CudaError> {
    let compiler = compiler()?;
    let refused = |log: String| CudaError::Compile { module: name.to_owned(), log };
    let text = |text: &str| CString::new(text).map_err(|_| refused("a NUL byte in the text".to_owned()));
    let (source, title) = (text(source)?, text(&format!("{name}.cu"))?);
    let options = [text(&format!("--gpu-architecture={architecture}"))?, text("--std=c++17")?];
    let pointers = options.each_ref().map(|option| option.as_ptr());
    let mut program = Program { compiler, handle: std::ptr::null_mut() };
    let none = std::ptr::null();
    // SAFETY: strings that end in NUL and outlive the call; no headers.
    let code = unsafe { (compiler.create)(&raw mut program.handle, source.as_ptr(), title.as_ptr(), 0, none, none) };
    if code != 0 {
        return Err(refused(format!("nvrtcCreateProgram: error {code}")));
    }
    // SAFETY: as many options as said.
    let code = unsafe { (compiler.compile)(program.handle, pointers.len() as c_int, pointers.as_ptr()) };
    if code != 0 {
        return Err(refused(program.log()));
    }
    let mut size = 0;
    // SAFETY: a pointer to a number, then a buffer of that size.
    let code = unsafe { (compiler.cubin_size)(program.handle, &raw mut size) };
    let mut cubin = vec![0_u8; size];
    if code != 0 || size == 0 || unsafe { (compiler.cubin)(program.handle, cubin.as_mut_ptr().cast()) } != 0 {
        return Err(refused(format!("it made no machine code for {architecture}")));
    }
    Ok(cubin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether there is a compiler; a test that needs one says that it skips.
    fn present() -> bool {
        let found = version();
        if let Err(error) = &found {
            eprintln!("skipped: {error}");
        }
        found.is_ok()
    }

    #[test]
    fn every_probe_compiles_for_every_architecture_that_has_it() {
        if !present() {
            return;
        }
        for capability in [[8, 0], [9, 0]] {
            for module in crate::source::modules(capability) {
                let source = crate::source::text(module, capability);
                let cubin = compile(module, &source, &crate::source::architecture(capability));
                let size = cubin.map_or_else(|error| panic!("{module}: {error}"), |cubin| cubin.len());
                assert!(size > 1000, "{module}");
            }
        }
    }

    #[test]
    fn a_refusal_says_where() {
        if !present() {
            return;
        }
        let error = compile("broken", "nonsense", "sm_90a").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("broken.cu(1)"), "{error}");
    }
}
