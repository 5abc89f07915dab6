//! `rooflab map --device`: maps of devices other than the processor, and the list of them.
//!
//! Must not measure the processor, and must not need a driver unless a device is asked for.

use super::print_json;
use crate::args::MapArgs;
use crate::notice::{Notice, Voice};
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{Format, Place};
use crate::store;
use crate::terminal::Quiet;
use crate::text::align;
use cuda::{CudaError, Depth, Effort, Listed};
use jiff::Timestamp;

/// Seconds of `--soak`.
const SOAK: u32 = 30;

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        match &error {
            CudaError::Name(_) | CudaError::NoSuchDevice { .. } => Self::usage(&error, error.fix()),
            _ => Self::environment(&error, error.fix()),
        }
    }
}

/// Runs it for a device's name or `list`.
///
/// # Errors
/// When there is no such device, no driver, no compiler, or the ledger can't be read or written.
pub fn run(name: &str, args: &MapArgs) -> Outcome {
    let format = Format::from_flag(args.json);
    if name == "list" {
        return list(cuda::list(), format);
    }
    let device = cuda::device(name)?;
    let mut ledger = store::open(&Place::new(&args.place))?;
    let again = args.fresh || args.deep || args.soak;
    let stored = if again { None } else { ledger.latest_map(&cuda::fingerprint(&device))? };
    let map = if let Some(map) = stored {
        map
    } else {
        let voice = Voice::new(Quiet);
        let map = cuda::measure(&device, effort(args), &mut |text| voice.say(&Notice::Working { text }))?;
        ledger.put_map(Timestamp::now(), &map)?;
        map
    };
    if format == Format::Json {
        return print_json(&map);
    }
    print!("{}", cuda::text(&map));
    Ok(Done::Complete)
}

fn effort(args: &MapArgs) -> Effort {
    let depth = match (args.quick, args.deep) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Deep,
        _ => Depth::Default,
    };
    Effort { depth, soak: args.soak.then_some(SOAK) }
}

/// The processor, and every device; that there is none is said there and is a failure as well, since a script that asks for
/// devices wants to know.
fn list(found: Result<Vec<Listed>, CudaError>, format: Format) -> Outcome {
    if format == Format::Json {
        let (devices, why) = match &found {
            Ok(devices) => (devices.as_slice(), None),
            Err(error) => (&[][..], Some(error.to_string())),
        };
        let row = |device: &Listed| serde_json::json!({ "device": device.name, "what": device.description, "uuid": device.uuid });
        let devices: Vec<serde_json::Value> = devices.iter().map(row).collect();
        print_json(&serde_json::json!({ "devices": devices, "no_cuda": why }))?;
    } else {
        println!("{}", lines(&found));
    }
    found?;
    Ok(Done::Complete)
}

fn lines(found: &Result<Vec<Listed>, CudaError>) -> String {
    let row = |name: &str, what: String| [name.to_owned(), what];
    let mut rows = vec![row("device", "what it is".to_owned()), row("cpu", "this machine's processor".to_owned())];
    match found {
        Ok(devices) => rows.extend(devices.iter().map(|device| row(&device.name, device.description.clone()))),
        Err(error) => rows.push(row("cuda", format!("none: {error}"))),
    }
    align(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_says_what_there_is_or_why_there_is_nothing() {
        let device = |number: usize| Listed {
            name: format!("cuda:{number}"),
            description: "NVIDIA H200".to_owned(),
            uuid: String::new(),
        };
        let text = lines(&Ok(vec![device(0), device(1)]));
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("cuda:1") && text.contains("NVIDIA H200"), "{text}");
        let text = lines(&Err(CudaError::NoDriver { why: "libcuda.so.1: no such file".to_owned() }));
        assert!(text.contains("none: no CUDA driver here: libcuda.so.1"), "{text}");
    }

    #[test]
    fn a_list_without_devices_fails_and_says_what_to_do() {
        let none = || Err(CudaError::NoDriver { why: "libcuda.so.1: no such file".to_owned() });
        for format in [Format::Json, Format::Text] {
            let Err(failure) = list(none(), format) else { panic!("a list of nothing is no success") };
            assert_eq!(failure.code(), 4);
        }
        assert!(list(Ok(Vec::new()), Format::Text).is_ok());
    }

    #[test]
    fn a_wrong_name_is_a_usage_error_and_a_missing_driver_is_not() {
        let code = |error: CudaError| Failure::from(error).code();
        assert_eq!(code(CudaError::Name("gpu".to_owned())), 2);
        assert_eq!(code(CudaError::NoSuchDevice { asked: 1, count: 1 }), 2);
        assert_eq!(code(CudaError::NoDriver { why: String::new() }), 4);
    }
}
