//! The devices of this machine, or why there are none.

use crate::driver::{Attribute, Device, driver};
use crate::error::CudaError;
use crate::nvrtc;
use model::Bytes;

/// One device.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// As `--device` takes it.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// What tells it from all others.
    pub uuid: String,
}

/// Every device that the driver sees.
///
/// # Errors
/// Why there is none.
pub fn list() -> Result<Vec<Listed>, CudaError> {
    let driver = driver()?;
    let count = Device::count(driver)?;
    if count == 0 {
        return Err(CudaError::NoDevice);
    }
    (0..count).map(|number| describe(&Device::get(driver, number)?)).collect()
}

fn describe(device: &Device) -> Result<Listed, CudaError> {
    let [major, minor] = device.capability;
    let l2 = Bytes(f64::from(device.attribute(Attribute::L2)?));
    let compiler = nvrtc::version().map_or_else(|_| "no NVRTC".to_owned(), |version| format!("NVRTC {version}"));
    Ok(Listed {
        name: format!("cuda:{}", device.number),
        description: format!(
            "{}, compute capability {major}.{minor}, {} multiprocessors, {} of memory, {l2} of L2, driver for CUDA {}, {compiler}",
            device.name,
            device.multiprocessors,
            Bytes(device.memory as f64),
            device.driver_version(),
        ),
        uuid: device.uuid.clone(),
    })
}
