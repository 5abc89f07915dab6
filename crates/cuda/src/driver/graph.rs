//! Graphs: a sequence of launches, recorded once and started at once.

use super::{Handle, Stream};
use crate::error::CudaError;

/// A recorded sequence, ready to start.
pub(crate) struct Graph<'a> {
    stream: &'a Stream,
    recorded: Handle,
    executable: Handle,
}

impl<'a> Graph<'a> {
    /// Records what `work` queues on the stream.
    pub(crate) fn record(stream: &'a Stream, work: impl FnOnce() -> Result<(), CudaError>) -> Result<Self, CudaError> {
        /// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`
        const THREAD_LOCAL: i32 = 1;
        let driver = stream.context.driver;
        // SAFETY: a stream of this driver.
        driver.check("cuStreamBeginCapture", unsafe { (driver.table.capture_begin)(stream.handle, THREAD_LOCAL) })?;
        let queued = work();
        let mut made = Self { stream, recorded: std::ptr::null_mut(), executable: std::ptr::null_mut() };
        // SAFETY: the capture that was begun, whatever became of the work.
        let ended = unsafe { (driver.table.capture_end)(stream.handle, &raw mut made.recorded) };
        queued?;
        driver.check("cuStreamEndCapture", ended)?;
        // SAFETY: a graph of this driver, no flags.
        let code = unsafe { (driver.table.graph_instantiate)(&raw mut made.executable, made.recorded, 0) };
        driver.check("cuGraphInstantiate", code)?;
        Ok(made)
    }

    /// Queues the whole of it.
    pub(crate) fn launch(&self) -> Result<(), CudaError> {
        let driver = self.stream.context.driver;
        // SAFETY: an executable graph and its stream.
        driver.check("cuGraphLaunch", unsafe { (driver.table.graph_launch)(self.executable, self.stream.handle) })
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        if !self.stream.context.answers() {
            return;
        }
        let table = &self.stream.context.driver.table;
        // SAFETY: made in `record`, destroyed once, where they exist.
        unsafe {
            if !self.executable.is_null() {
                (table.graph_executable_destroy)(self.executable);
            }
            if !self.recorded.is_null() {
                (table.graph_destroy)(self.recorded);
            }
        }
    }
}
