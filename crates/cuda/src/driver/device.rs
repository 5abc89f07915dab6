//! Devices and what the driver says of them.
//!
//! What stands here is a claim, not a measurement.

use super::Driver;
use crate::error::CudaError;
use std::ffi::{CStr, c_char};

/// An attribute by its number in the driver's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Threads of a block at most.
    ThreadsPerBlock = 1,
    /// Hertz of the multiprocessors, in thousands.
    Clock = 13,
    /// Multiprocessors.
    Multiprocessors = 16,
    /// Hertz of the memory, in thousands.
    MemoryClock = 36,
    /// Bits of the memory's bus.
    BusWidth = 37,
    /// Bytes of the L2.
    L2 = 38,
    /// Threads that a multiprocessor holds.
    ThreadsPerMultiprocessor = 39,
    /// Compute capability, before the point.
    Major = 75,
    /// Compute capability, after it.
    Minor = 76,
    /// Bytes of shared memory of a multiprocessor.
    SharedPerMultiprocessor = 81,
    /// Registers of a multiprocessor.
    RegistersPerMultiprocessor = 82,
    /// Bytes of shared memory of a block that asks for more than the usual.
    SharedPerBlock = 97,
    /// Blocks that a multiprocessor holds.
    BlocksPerMultiprocessor = 106,
}

/// A device.
#[derive(Clone)]
pub struct Device {
    pub(crate) driver: &'static Driver,
    pub(crate) handle: i32,
    /// Its number, as in `cuda:0`.
    pub number: usize,
    /// As the driver names it.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: [u32; 2],
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// What tells it from all others.
    pub uuid: String,
}

impl Device {
    /// How many the driver sees.
    pub(crate) fn count(driver: &'static Driver) -> Result<usize, CudaError> {
        let mut count = 0;
        // SAFETY: a pointer to a number.
        driver.check("cuDeviceGetCount", unsafe { (driver.table.device_count)(&raw mut count) })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The device of this number.
    pub(crate) fn get(driver: &'static Driver, number: usize) -> Result<Self, CudaError> {
        let count = Self::count(driver)?;
        if count == 0 {
            return Err(CudaError::NoDevice);
        }
        let wrong = || CudaError::NoSuchDevice { asked: number, count };
        let ordinal = i32::try_from(number).ok().filter(|_| number < count).ok_or_else(wrong)?;
        let (mut handle, mut memory, mut name, mut uuid) = (0, 0, [0_u8; 256], [0_u8; 16]);
        // SAFETY: pointers to numbers and to arrays of the sizes that are passed or documented (16 bytes of UUID).
        unsafe {
            driver.check("cuDeviceGet", (driver.table.device_get)(&raw mut handle, ordinal))?;
            let to = name.as_mut_ptr().cast::<c_char>();
            driver.check("cuDeviceGetName", (driver.table.device_name)(to, 255, handle))?;
            driver.check("cuDeviceTotalMem", (driver.table.device_memory)(&raw mut memory, handle))?;
            driver.check("cuDeviceGetUuid", (driver.table.device_uuid)(uuid.as_mut_ptr(), handle))?;
        }
        let name = CStr::from_bytes_until_nul(&name).map_or_else(|_| "?".into(), CStr::to_string_lossy).into_owned();
        let device = Self {
            driver,
            handle,
            number,
            name,
            capability: [0, 0],
            multiprocessors: 0,
            memory: memory as u64,
            uuid: identity(&uuid),
        };
        Ok(Self {
            capability: [device.attribute(Attribute::Major)?, device.attribute(Attribute::Minor)?],
            multiprocessors: device.attribute(Attribute::Multiprocessors)?,
            ..device
        })
    }

    /// What the driver says.
    ///
    /// # Errors
    /// When the driver does not know the attribute.
    pub fn attribute(&self, attribute: Attribute) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: a pointer to a number, and a device of this driver.
        let code = unsafe { (self.driver.table.device_attribute)(&raw mut value, attribute as i32, self.handle) };
        self.driver.check("cuDeviceGetAttribute", code)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// `13.0`: the newest CUDA that the driver speaks.
    pub fn driver_version(&self) -> String {
        let version = self.driver.version;
        format!("{}.{}", version / 1000, version % 1000 / 10)
    }
}

/// As `nvidia-smi -L` writes it.
fn identity(bytes: &[u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(*bytes));
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_read_as_the_system_writes_them() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(identity(&bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }
}
