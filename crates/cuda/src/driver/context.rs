//! Contexts, streams and events.

use super::{Device, Driver, Handle};
use crate::error::CudaError;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What a query says of work that has not ended, `CUDA_ERROR_NOT_READY`.
const NOT_READY: i32 = 600;
/// How long a wait is a spin: a sleep would be in the wall's figure. Longer work is not timed by the wall.
const SPIN: Duration = Duration::from_millis(50);
/// Seconds between two looks after that.
const LOOK: Duration = Duration::from_micros(500);

/// A device's primary context, current on the thread that opened it.
pub struct Context {
    pub(crate) driver: &'static Driver,
    device: i32,
    /// Something on the device does not end. Every call that waits for it, freeing memory too, would never return.
    hung: Cell<Option<f64>>,
}

impl Context {
    /// Opens it and makes it this thread's.
    ///
    /// # Errors
    /// When the driver refuses: the device is in use exclusively, or not well.
    pub fn open(device: &Device) -> Result<Rc<Self>, CudaError> {
        let driver = device.driver;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: a pointer to a handle, and a device of this driver.
        let code = unsafe { (driver.table.context_retain)(&raw mut handle, device.handle) };
        driver.check("cuDevicePrimaryCtxRetain", code)?;
        let context = Self { driver, device: device.handle, hung: Cell::new(None) };
        // SAFETY: the handle that the driver gave.
        driver.check("cuCtxSetCurrent", unsafe { (driver.table.context_set)(handle) })?;
        Ok(Rc::new(context))
    }

    /// Waits for everything on the device.
    ///
    /// # Errors
    /// When something that was launched before has failed, or is known to never end.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        if let Some(seconds) = self.hung.get() {
            return Err(CudaError::Hung { seconds });
        }
        // SAFETY: no arguments.
        self.driver.check("cuCtxSynchronize", unsafe { (self.driver.table.context_synchronize)() })
    }

    /// Whether calls that wait for the device still come back.
    pub(crate) fn answers(&self) -> bool {
        self.hung.get().is_none()
    }

    /// Bytes of memory that are free.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn free_memory(&self) -> Result<u64, CudaError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: pointers to numbers.
        let code = unsafe { (self.driver.table.memory_info)(&raw mut free, &raw mut total) };
        self.driver.check("cuMemGetInfo", code)?;
        Ok(free as u64)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.answers() {
            // SAFETY: retained once in `open`.
            unsafe { (self.driver.table.context_release)(self.device) };
        }
    }
}

/// A queue of work.
pub struct Stream {
    pub(crate) context: Rc<Context>,
    pub(crate) handle: Handle,
}

impl Stream {
    /// A stream that waits for no other.
    ///
    /// # Errors
    /// When the driver has none left.
    pub fn new(context: &Rc<Context>) -> Result<Self, CudaError> {
        /// `CU_STREAM_NON_BLOCKING`
        const NON_BLOCKING: u32 = 1;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: a pointer to a handle.
        let code = unsafe { (context.driver.table.stream_create)(&raw mut handle, NON_BLOCKING) };
        context.driver.check("cuStreamCreate", code)?;
        Ok(Self { context: Rc::clone(context), handle })
    }

    /// Waits for everything in it.
    ///
    /// # Errors
    /// When something in it has failed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        let driver = self.context.driver;
        // SAFETY: a stream of this driver.
        driver.check("cuStreamSynchronize", unsafe { (driver.table.stream_synchronize)(self.handle) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.answers() {
            // SAFETY: made in `new`, destroyed once.
            unsafe { (self.context.driver.table.stream_destroy)(self.handle) };
        }
    }
}

/// A moment on the device.
pub struct Event {
    context: Rc<Context>,
    handle: Handle,
}

impl Event {
    /// An event that keeps its time.
    pub(crate) fn new(context: &Rc<Context>) -> Result<Self, CudaError> {
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: a pointer to a handle, no flags.
        context.driver.check("cuEventCreate", unsafe { (context.driver.table.event_create)(&raw mut handle, 0) })?;
        Ok(Self { context: Rc::clone(context), handle })
    }

    /// Happens when the stream gets there.
    pub(crate) fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        let driver = self.context.driver;
        // SAFETY: an event and a stream of this driver.
        driver.check("cuEventRecord", unsafe { (driver.table.event_record)(self.handle, stream.handle) })
    }

    /// Waits until it has happened, so many seconds at most: then the device is given up.
    pub(crate) fn wait(&self, seconds: f64) -> Result<(), CudaError> {
        let (driver, start) = (self.context.driver, Instant::now());
        loop {
            // SAFETY: an event of this driver.
            let code = unsafe { (driver.table.event_query)(self.handle) };
            if code != NOT_READY {
                return driver.check("cuEventQuery", code);
            }
            let waited = start.elapsed();
            if waited.as_secs_f64() > seconds {
                self.context.hung.set(Some(seconds));
                return Err(CudaError::Hung { seconds });
            }
            if waited > SPIN {
                std::thread::sleep(LOOK);
            }
        }
    }

    /// Seconds from `before` to this, both of which have happened.
    pub(crate) fn since(&self, before: &Self) -> Result<f64, CudaError> {
        let (driver, mut milliseconds) = (self.context.driver, 0.0_f32);
        // SAFETY: two events of this driver, and a pointer to a number.
        let code = unsafe { (driver.table.event_elapsed)(&raw mut milliseconds, before.handle, self.handle) };
        driver.check("cuEventElapsedTime", code)?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.answers() {
            // SAFETY: made in `new`, destroyed once.
            unsafe { (self.context.driver.table.event_destroy)(self.handle) };
        }
    }
}
