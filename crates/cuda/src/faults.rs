//! Tests alone: what becomes of a map when the driver lacks something, runs out of memory, fails, hangs, or does nothing.
//!
//! The driver is `fake/driver.c`, built for each fault. Nothing here says how a real device behaves.

use crate::driver::{Device, Driver, load};
use crate::error::CudaError;
use crate::plan::{Depth, Effort, Plan};
use crate::probes;
use crate::rig::Session;
use model::Map;
use std::process::Command;

/// The driver's source.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fake/driver.c");

/// The driver with these faults, or why it does not start.
fn fake(faults: &[&str]) -> Result<&'static Driver, String> {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libcuda.so.1");
    let flags = faults.iter().map(|fault| format!("-D{fault}"));
    let built =
        Command::new("cc").args(["-O1", "-w", "-fPIC", "-shared", SOURCE, "-o"]).arg(&library).args(flags).status();
    assert!(built.is_ok_and(|status| status.success()), "cc builds no library");
    load(&[&library.to_string_lossy()]).map(|driver| &*Box::leak(Box::new(driver)))
}

/// The map of its first device, and what it said on the way.
fn measured(faults: &[&str]) -> (Result<Map, CudaError>, Vec<String>) {
    let device = Device::get(fake(faults).unwrap(), 0).unwrap();
    let plan =
        Plan { rounds: 1, soak: 0.1, unit: 0.1, limit: 0.05, ..Effort { depth: Depth::Quick, soak: None }.plan() };
    let mut said = Vec::new();
    let mut progress = |text: &str| said.push(text.to_owned());
    // No compiler: a driver that runs nothing takes any machine code.
    let map = Session::with(&device, plan, |_, _, _| Ok(vec![0; 16]), &mut progress).and_then(|mut session| {
        let mut map = Map::default();
        probes::all(&mut session, &mut map)?;
        map.missing = std::mem::take(&mut session.missing);
        Ok(map)
    });
    (map, said)
}

#[test]
fn an_old_driver_is_named_by_what_it_lacks() {
    let why = fake(&["WITHOUT_GRAPHS"]).err().unwrap_or_default();
    assert_eq!(why, "the driver lacks cuGraphLaunch: it is older than CUDA 12");
}

#[test]
fn a_driver_that_finds_nothing_says_so_in_its_own_words() {
    let why = fake(&["NO_DEVICE"]).err().unwrap_or_default();
    assert_eq!(why, "cuInit failed: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)");
}

#[test]
fn a_number_that_no_device_has_is_refused_with_the_count() {
    let check = |devices: &str, number: usize, expected: &str, fix: &str| {
        let error = Device::get(fake(&[devices]).unwrap(), number).err().unwrap();
        assert_eq!(error.to_string(), expected);
        assert!(error.fix().contains(fix), "{}", error.fix());
    };
    check("DEVICES=1", 7, "there is no device cuda:7: this machine has 1, counted from cuda:0", "--device list");
    check("DEVICES=2", 2, "there is no device cuda:2: this machine has 2, counted from cuda:0", "--device list");
    check("DEVICES=0", 0, "the CUDA driver sees no device", "CUDA_VISIBLE_DEVICES");
    let second = Device::get(fake(&["DEVICES=2"]).unwrap(), 1).unwrap();
    assert_eq!((second.number, second.capability, second.multiprocessors), (1, [9, 0], 2));
}

#[test]
fn a_full_device_is_an_error_that_names_who_holds_it() {
    let (map, _) = measured(&["MEMORY=1048576"]);
    let error = map.err().unwrap();
    assert_eq!(error.to_string(), "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    assert!(error.fix().contains("nvidia-smi"), "{}", error.fix());
}

#[test]
fn a_nearly_full_device_lacks_what_did_not_fit() {
    // Room for the records and little else: the cycles' and the arrays' buffers are shares of what is free.
    let (map, _) = measured(&["MEMORY=(100<<20)"]);
    let missing = map.unwrap().missing.join("\n");
    assert!(missing.contains("halves of the L2: cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY"), "{missing}");
}

#[test]
fn a_launch_that_is_refused_leaves_the_rest_to_be_tried() {
    let (map, said) = measured(&["REFUSES"]);
    let map = map.unwrap();
    let missing = map.missing.join("\n");
    assert!(missing.contains("cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE"), "{missing}");
    assert!(said.iter().any(|text| text.starts_with("tensor cores")), "{said:?}");
    assert_nothing_was_measured(&map);
}

#[test]
fn a_fault_on_the_device_ends_the_map() {
    let (map, said) = measured(&["FAULTS"]);
    let error = map.err().unwrap();
    assert!(error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    assert!(error.fix().contains("Xid"), "{}", error.fix());
    // Nothing after the first group was tried: each would have failed.
    assert!(!said.iter().any(|text| text.starts_with("floors")), "{said:?}");
}

/// The fake aborts at every call that would wait for the device: the test ends only if none is made.
#[test]
fn a_launch_that_never_ends_is_given_up() {
    let (map, said) = measured(&["HANGS"]);
    let error = map.err().unwrap();
    assert_eq!(error.to_string(), "a launch has not ended after 0.05 s: the device hangs");
    assert!(!said.iter().any(|text| text.starts_with("floors")), "{said:?}");
}

#[test]
fn a_device_that_computes_nothing_has_no_rates() {
    let (map, _) = measured(&[]);
    assert_nothing_was_measured(&map.unwrap());
}

/// Launches and waits cost the host something whatever the device does; all else needs a result.
fn assert_nothing_was_measured(map: &Map) {
    let free = ["floor.", "machine.", "capacity.shared"];
    let measured: Vec<&str> = map
        .figures
        .iter()
        .map(|figure| figure.name.as_str())
        .filter(|name| !free.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    assert_eq!(measured, [""; 0]);
    assert!(map.curves.is_empty() && map.knees.is_empty() && map.traces.is_empty());
}
