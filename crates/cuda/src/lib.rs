//! NVIDIA devices: their driver and compiler loaded at run time, and the probes that measure what a device sustains.
//!
//! Must not link CUDA, load a candidate, or write files: one binary runs where there is no driver, and says so. A figure
//! whose result was wrong is not in the map; what could not be measured is in [`model::Map::missing`] with its reason.

mod cublas;
mod driver;
mod error;
#[cfg(test)]
mod faults;
mod listing;
mod nvml;
mod nvrtc;
mod operands;
mod oracle;
mod permutation;
mod plan;
mod probes;
mod random;
mod report;
mod rig;
mod rounds;
mod source;
mod summary;

pub use driver::{Attribute, Context, Device, Function, Launch, Module, Stream};
pub use error::CudaError;
pub use listing::{Listed, list};
pub use nvrtc::{compile, version as compiler_version};
pub use plan::{Depth, Effort};
pub use report::text;

use driver::driver;
use model::{Fingerprint, MAP_SCHEMA, Map, Seconds};
use rig::Session;

/// Version of these probes: a stored map of another version is measured again.
pub const PROBES: u32 = 1;

/// The device that a name means: `cuda:0`, or `cuda` for the first.
///
/// # Errors
/// When the name is of another form, there is no driver, or no such device.
pub fn device(name: &str) -> Result<Device, CudaError> {
    let number = match name {
        "cuda" => Some(0),
        _ => name.strip_prefix("cuda:").and_then(|number| number.parse().ok()),
    };
    Device::get(driver()?, number.ok_or_else(|| CudaError::Name(name.to_owned()))?)
}

/// What a device's map is stored under.
pub fn fingerprint(device: &Device) -> Fingerprint {
    Fingerprint {
        cpu: device.name.clone(),
        cores: device.multiprocessors,
        features: vec![source::architecture(device.capability)],
        kernel: format!("CUDA driver {}", device.driver_version()),
        platform: "cuda".to_owned(),
        probes: PROBES,
    }
}

/// Measures a device; nothing else should run on it. `progress` hears what comes next, never while a window is timed.
///
/// # Errors
/// When the driver or the compiler is missing or refuses to work at all; a single probe's failure is in `missing`.
pub fn measure(device: &Device, effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<Map, CudaError> {
    let mut session = Session::open(device, effort, progress)?;
    let mut map = Map {
        schema: MAP_SCHEMA,
        depth: effort.name(),
        fingerprint: fingerprint(device),
        clock_resolution: Seconds(0.0),
        clock_overhead: Seconds(0.0),
        ..Map::default()
    };
    probes::all(&mut session, &mut map)?;
    map.missing = std::mem::take(&mut session.missing);
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_goes_by_its_number() {
        for name in ["cpu", "cuda:", "cuda:x", "cuda:-1", "metal:0"] {
            let error = device(name).map(|device| device.name);
            // Without a driver every name fails, and the first thing that is missing is what is said.
            assert!(matches!(error, Err(CudaError::Name(_) | CudaError::NoDriver { .. })), "{name}: {error:?}");
        }
    }
}
