//! NVML, loaded at run time where it is: the clocks, power, temperature and throttling of a device under load.
//!
//! Reads, and must never set anything. Without it the map says so and goes on.

use crate::driver::{Handle, open, table};
use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong};

/// The library's names; the last one is where containers have it.
const NAMES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "/usr/local/nvidia/lib64/libnvidia-ml.so.1"];

table! {
    /// The library's entries that are used.
    Library {
        init = "nvmlInit_v2"();
        by_uuid = "nvmlDeviceGetHandleByUUID"(*const c_char, *mut Handle);
        clock = "nvmlDeviceGetClockInfo"(Handle, c_int, *mut c_uint);
        power = "nvmlDeviceGetPowerUsage"(Handle, *mut c_uint);
        power_limit = "nvmlDeviceGetEnforcedPowerLimit"(Handle, *mut c_uint);
        temperature = "nvmlDeviceGetTemperature"(Handle, c_int, *mut c_uint);
        reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"(Handle, *mut c_ulonglong);
    }
}

/// What lowers a clock, by the bits of NVML's public header; `true` where that is a fault of the machine and no limit of
/// the device's own.
const REASONS: [(u64, &str, bool); 7] = [
    (0x4, "power limit", false),
    (0x8, "hardware slowdown", true),
    (0x10, "sync boost", false),
    (0x20, "temperature, by software", true),
    (0x40, "temperature, by hardware", true),
    (0x80, "power brake", true),
    (0x2, "clocks set by somebody", false),
];

/// One reading; none for what the device does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// Hertz of the multiprocessors.
    pub(crate) clock: Option<f64>,
    /// Watts, as the device averages them.
    pub(crate) power: Option<f64>,
    /// Degrees Celsius.
    pub(crate) temperature: Option<f64>,
    /// Bits of [`REASONS`].
    pub(crate) reasons: u64,
}

/// One device's readings.
pub(crate) struct Monitor {
    library: Library,
    device: Handle,
}

impl Monitor {
    /// The monitor of the device of this UUID, `GPU-...`, or why there is none.
    pub(crate) fn open(uuid: &str) -> Result<Self, String> {
        Self::of(&NAMES, uuid)
    }

    fn of(names: &[&str], uuid: &str) -> Result<Self, String> {
        let library = Library::of(open(names)?).map_err(|symbol| format!("NVML lacks {symbol}"))?;
        let name = CString::new(uuid).map_err(|_| "a UUID with a NUL byte".to_owned())?;
        let mut device: Handle = std::ptr::null_mut();
        // SAFETY: no arguments; then a string and a pointer to a handle.
        let code = unsafe { (library.init)() };
        if code != 0 {
            return Err(format!("nvmlInit: error {code}"));
        }
        let code = unsafe { (library.by_uuid)(name.as_ptr(), &raw mut device) };
        if code == 0 { Ok(Self { library, device }) } else { Err(format!("nvmlDeviceGetHandleByUUID: error {code}")) }
    }

    /// What it is now. Takes some ten microseconds of the host, none of the device.
    pub(crate) fn sample(&self) -> Sample {
        /// `NVML_CLOCK_SM`
        const MULTIPROCESSORS: c_int = 1;
        /// `NVML_TEMPERATURE_GPU`
        const DIE: c_int = 0;
        let (mut clock, mut power, mut temperature, mut reasons) = (0, 0, 0, 0);
        // SAFETY: the device that the library gave, and pointers to numbers.
        let [clocked, powered, warm, told] = unsafe {
            [
                (self.library.clock)(self.device, MULTIPROCESSORS, &raw mut clock),
                (self.library.power)(self.device, &raw mut power),
                (self.library.temperature)(self.device, DIE, &raw mut temperature),
                (self.library.reasons)(self.device, &raw mut reasons),
            ]
        };
        let when = |code: c_int, value: c_uint, scale: f64| (code == 0).then(|| f64::from(value) * scale);
        Sample {
            clock: when(clocked, clock, 1e6),
            power: when(powered, power, 1e-3),
            temperature: when(warm, temperature, 1.0),
            reasons: if told == 0 { reasons } else { 0 },
        }
    }

    /// Watts that the device is held to.
    pub(crate) fn power_limit(&self) -> Option<f64> {
        let mut limit = 0;
        // SAFETY: as above.
        let code = unsafe { (self.library.power_limit)(self.device, &raw mut limit) };
        (code == 0).then(|| f64::from(limit) * 1e-3)
    }
}

/// What lowered the clock in some samples, each with its share of them, and whether all of it is the device's own limit.
pub(crate) fn throttling(samples: &[Sample]) -> (String, bool) {
    let share = |bit: u64| samples.iter().filter(|sample| sample.reasons & bit != 0).count();
    let seen: Vec<(usize, &str, bool)> = REASONS
        .into_iter()
        .map(|(bit, words, fault)| (share(bit), words, fault))
        .filter(|(count, ..)| *count > 0)
        .collect();
    let sound = seen.iter().all(|(.., fault)| !fault);
    let percent = |count: usize| 100.0 * count as f64 / samples.len() as f64;
    let texts: Vec<String> =
        seen.iter().map(|(count, words, _)| format!("{words} in {:.0} %", percent(*count))).collect();
    let said = if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") };
    (format!("lowered by {said} of {} readings", samples.len()), sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_no_fault_and_heat_is_one() {
        let sample = |reasons: u64| Sample { reasons, ..Sample::default() };
        let check = |reasons: &[u64], text: &str, sound: bool| {
            let samples: Vec<Sample> = reasons.iter().copied().map(sample).collect();
            assert_eq!(throttling(&samples), (text.to_owned(), sound));
        };
        check(&[0, 1], "lowered by nothing of 2 readings", true);
        check(&[0x4, 0x4, 0, 0x4], "lowered by power limit in 75 % of 4 readings", true);
        check(&[0x44, 0x4], "lowered by power limit in 100 %, temperature, by hardware in 50 % of 2 readings", false);
    }

    #[test]
    fn another_library_is_no_monitor() {
        let why = Monitor::of(&["libc.so.6"], "GPU-0").err().unwrap_or_default();
        assert_eq!(why, "NVML lacks nvmlInit_v2");
    }
}
