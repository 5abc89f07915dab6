//! Machine code on a device, and its launches.

use super::{Context, Handle, Stream};
use crate::error::CudaError;
use std::ffi::{CString, c_void};
use std::rc::Rc;

/// Loaded machine code.
pub struct Module {
    context: Rc<Context>,
    handle: Handle,
}

impl Module {
    /// Loads a cubin.
    ///
    /// # Errors
    /// When it is none, or for another device.
    pub fn load(context: &Rc<Context>, image: &[u8]) -> Result<Rc<Self>, CudaError> {
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: an image that says its own length, as the compiler wrote it.
        let code = unsafe { (context.driver.table.module_load)(&raw mut handle, image.as_ptr().cast()) };
        context.driver.check("cuModuleLoadData", code)?;
        Ok(Rc::new(Self { context: Rc::clone(context), handle }))
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn function(self: &Rc<Self>, name: &str) -> Result<Function, CudaError> {
        let symbol = CString::new(name).map_err(|_| CudaError::Wrong(format!("{name:?} is no kernel's name")))?;
        let (driver, mut handle) = (self.context.driver, std::ptr::null_mut());
        // SAFETY: a pointer to a handle, a module of this driver, a string.
        let code = unsafe { (driver.table.module_function)(&raw mut handle, self.handle, symbol.as_ptr()) };
        driver.check("cuModuleGetFunction", code).map_err(|error| match error {
            CudaError::Call { call, name: code, text } => {
                CudaError::Call { call, name: code, text: format!("{text}: {name}") }
            }
            other => other,
        })?;
        Ok(Function { module: Rc::clone(self), handle, name: name.to_owned() })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.answers() {
            // SAFETY: loaded once; functions keep it alive.
            unsafe { (self.context.driver.table.module_unload)(self.handle) };
        }
    }
}

/// How many threads, and how much shared memory a block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

/// A kernel.
#[derive(Clone)]
pub struct Function {
    module: Rc<Module>,
    handle: Handle,
    /// Its name.
    pub name: String,
}

impl Function {
    fn set(&self, attribute: i32, value: u32) -> Result<(), CudaError> {
        let driver = self.module.context.driver;
        // SAFETY: a function of this driver.
        let code = unsafe { (driver.table.function_set)(self.handle, attribute, value as i32) };
        driver.check("cuFuncSetAttribute", code)
    }

    /// Lets a block take so many bytes of dynamic shared memory.
    ///
    /// # Errors
    /// When that is more than the device has.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), CudaError> {
        /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
        const MAX_DYNAMIC_SHARED: i32 = 8;
        self.set(MAX_DYNAMIC_SHARED, bytes)
    }

    /// Asks for a share of the pool of shared memory and L1, in percent; the rest is L1.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn prefer_shared(&self, percent: u32) -> Result<(), CudaError> {
        /// `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`
        const CARVEOUT: i32 = 9;
        self.set(CARVEOUT, percent)
    }

    /// Registers of a thread.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn registers(&self) -> Result<u32, CudaError> {
        /// `CU_FUNC_ATTRIBUTE_NUM_REGS`
        const REGISTERS: i32 = 4;
        let (driver, mut value) = (self.module.context.driver, 0);
        // SAFETY: a pointer to a number, a function of this driver.
        let code = unsafe { (driver.table.function_get)(&raw mut value, REGISTERS, self.handle) };
        driver.check("cuFuncGetAttribute", code)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Blocks of this launch that fit on one multiprocessor at once, as the driver computes it.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn resident_blocks(&self, launch: Launch) -> Result<u32, CudaError> {
        let (driver, mut blocks) = (self.module.context.driver, 0);
        // SAFETY: a pointer to a number, a function of this driver.
        let code = unsafe {
            (driver.table.resident_blocks)(&raw mut blocks, self.handle, launch.threads as i32, launch.shared as usize)
        };
        driver.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Queues a launch of a kernel whose arguments are words of 8 bytes.
    ///
    /// # Errors
    /// When the launch makes no sense to the driver, or something before it has failed.
    pub fn launch(&self, stream: &Stream, launch: Launch, arguments: &[u64]) -> Result<(), CudaError> {
        let driver = self.module.context.driver;
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|argument| std::ptr::from_ref(argument).cast_mut().cast()).collect();
        let Launch { blocks, threads, shared } = launch;
        let (to, from) = (stream.handle, pointers.as_mut_ptr());
        // SAFETY: every probe takes exactly these arguments; the driver copies them before it returns.
        let code = unsafe {
            (driver.table.launch)(self.handle, blocks, 1, 1, threads, 1, 1, shared, to, from, std::ptr::null_mut())
        };
        driver.check("cuLaunchKernel", code)
    }
}
