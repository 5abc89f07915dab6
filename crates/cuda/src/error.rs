//! Why something on a device did not work, and what to do about it.

/// An error of the driver, of the compiler, or of a probe.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// No driver was found or it could not start.
    #[error("no CUDA driver here: {why}")]
    NoDriver {
        /// Everything that was tried.
        why: String,
    },
    /// The driver is there and sees nothing.
    #[error("the CUDA driver sees no device")]
    NoDevice,
    /// Fewer devices than the number says.
    #[error("there is no device cuda:{asked}: this machine has {count}, counted from cuda:0")]
    NoSuchDevice {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// No device is called that.
    #[error("`{0}` names no device")]
    Name(String),
    /// A call failed.
    #[error("{call} failed: {name} ({text})")]
    Call {
        /// The function.
        call: &'static str,
        /// The driver's name of the error.
        name: String,
        /// The driver's words.
        text: String,
    },
    /// No compiler was found.
    #[error("no CUDA compiler here: {why}")]
    NoCompiler {
        /// Everything that was tried.
        why: String,
    },
    /// The compiler refused a source.
    #[error("NVRTC refused `{module}`:\n{log}")]
    Compile {
        /// Which source.
        module: String,
        /// What it said.
        log: String,
    },
    /// A launch did not come to an end.
    #[error("a launch has not ended after {seconds} s: the device hangs")]
    Hung {
        /// How long it was waited for.
        seconds: f64,
    },
    /// A probe computed something else than it should have.
    #[error("{0}")]
    Wrong(String),
}

impl CudaError {
    /// What to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::NoDriver { .. } => {
                "install NVIDIA's driver, or in a container start it with the devices (--gpus all); libcuda.so.1 has to be on the loader's path"
            }
            Self::NoDevice => "see whether `nvidia-smi -L` lists a device, and whether CUDA_VISIBLE_DEVICES hides it",
            Self::NoSuchDevice { .. } | Self::Name(_) => "`rooflab map --device list` shows what there is",
            Self::NoCompiler { .. } => {
                "install NVRTC (the package cuda-nvrtc, or `pip install nvidia-cuda-nvrtc`), and name the file in ROOFLAB_NVRTC where it lies in no usual place"
            }
            Self::Call { name, .. } if name == "CUDA_ERROR_OUT_OF_MEMORY" => {
                "other processes hold the device's memory: `nvidia-smi` lists them"
            }
            Self::Call { name, .. } if name == "CUDA_ERROR_NO_BINARY_FOR_GPU" => {
                "the compiler is older or newer than the device and its driver: bring an NVRTC of the driver's version"
            }
            Self::Hung { .. } => {
                "see the system's log (Xid) and what else runs on the device; ending this process frees it, and a device that stays stuck has to be reset by whoever owns it"
            }
            Self::Call { .. } => "see `nvidia-smi` and the system's log (Xid): the device or its driver is not well",
            Self::Compile { .. } | Self::Wrong(_) => "this is a fault of rooflab: please report it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_a_fix() {
        let call = |name: &str| CudaError::Call { call: "cuMemAlloc", name: name.to_owned(), text: String::new() };
        let check = |error: &CudaError, expected: &str| assert!(error.fix().contains(expected), "{error}");
        check(&CudaError::NoDriver { why: String::new() }, "libcuda.so.1");
        check(&CudaError::NoCompiler { why: String::new() }, "nvidia-cuda-nvrtc");
        check(&CudaError::NoSuchDevice { asked: 3, count: 1 }, "--device list");
        check(&call("CUDA_ERROR_OUT_OF_MEMORY"), "memory");
        check(&call("CUDA_ERROR_ILLEGAL_ADDRESS"), "Xid");
        check(&CudaError::Hung { seconds: 30.0 }, "ending this process");
    }
}
