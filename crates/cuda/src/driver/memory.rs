//! Memory of a device: plain allocations alone, never managed ones.

use super::{Context, Stream};
use crate::error::CudaError;
use std::rc::Rc;

/// A piece of a device's memory.
pub(crate) struct Buffer {
    context: Rc<Context>,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// So many bytes, whatever is in them.
    pub(crate) fn new(context: &Rc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let mut address = 0;
        // SAFETY: a pointer to an address.
        let code = unsafe { (context.driver.table.memory_allocate)(&raw mut address, bytes) };
        context.driver.check("cuMemAlloc", code)?;
        Ok(Self { context: Rc::clone(context), address, bytes })
    }

    /// Where it begins, on the device.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the first bytes to a value.
    pub(crate) fn set(&self, value: u8, bytes: usize) -> Result<(), CudaError> {
        let driver = self.context.driver;
        // SAFETY: inside the buffer.
        let code = unsafe { (driver.table.memory_set)(self.address, value, bytes.min(self.bytes)) };
        driver.check("cuMemsetD8", code)
    }

    /// Copies to its beginning.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<(), CudaError> {
        assert!(bytes.len() <= self.bytes, "an upload larger than its buffer");
        let driver = self.context.driver;
        // SAFETY: as many bytes as the slice has and the buffer holds.
        let code = unsafe { (driver.table.copy_up)(self.address, bytes.as_ptr().cast(), bytes.len()) };
        driver.check("cuMemcpyHtoD", code)
    }

    /// Copies so many bytes from an offset.
    pub(crate) fn download(&self, offset: usize, bytes: usize) -> Result<Vec<u8>, CudaError> {
        assert!(offset + bytes <= self.bytes, "a download beyond its buffer");
        let (driver, mut to) = (self.context.driver, vec![0_u8; bytes]);
        // SAFETY: as many bytes as the vector has and the buffer holds behind the offset.
        let code = unsafe { (driver.table.copy_down)(to.as_mut_ptr().cast(), self.address + offset as u64, bytes) };
        driver.check("cuMemcpyDtoH", code)?;
        Ok(to)
    }

    /// Words of 4 bytes from an offset.
    pub(crate) fn words(&self, offset: usize, count: usize) -> Result<Vec<u32>, CudaError> {
        let bytes = self.download(offset, count * 4)?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Queues a copy of the first bytes to another buffer, by the driver's own means.
    pub(crate) fn copy_to(&self, to: &Self, bytes: usize, stream: &Stream) -> Result<(), CudaError> {
        assert!(bytes <= self.bytes && bytes <= to.bytes, "a copy larger than its buffers");
        let driver = self.context.driver;
        // SAFETY: inside both buffers.
        let code = unsafe { (driver.table.copy_across)(to.address, self.address, bytes, stream.handle) };
        driver.check("cuMemcpyDtoD", code)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.context.answers() {
            // SAFETY: allocated in `new`, freed once; the driver waits for work that uses it.
            unsafe { (self.context.driver.table.memory_free)(self.address) };
        }
    }
}
