//! Turns an `Arm` into code that a runner can call.
//!
//! Must not measure more than the two short calibrations that a slowed kernel and a ceiling's probe need.

use crate::judge::{EnvError, Judge};
use crate::library::{self, Exports};
use crate::python;
use crate::runner::Code;
use crate::sandbox::SandboxError;
use crate::side::Side;
use model::{Arm, Digest, Language, Library, Verdict};
use problems::BaselineCode;
use std::time::Duration;

/// Identity of an arm: a source's or a library's own digest, or its name's.
pub fn digest(arm: &Arm) -> Digest {
    match arm {
        Arm::Source(source) => source.digest(),
        Arm::Baseline(name) => Digest::of(format!("baseline\0{name}")),
        Arm::Ceiling(name) => Digest::of(format!("ceiling\0{name}")),
        Arm::Library(library) => library.digest,
    }
}

/// Builds a source, or finds a baseline or a probe by name. `NAME+2%` is a kernel of our own with 2 % of turns added.
///
/// # Errors
/// The inner result is the candidate's; the outer one the environment's or the question's.
pub fn resolve(judge: &mut Judge, arm: &Arm) -> Result<Result<Code, Verdict>, EnvError> {
    match arm {
        Arm::Source(source) if source.language == Language::Python => Ok(Ok(python::candidate(judge, source)?)),
        Arm::Source(source) => {
            let unit = match source.language {
                Language::Rust => judge.problem.rust_unit(source),
                _ => judge.problem.unit(source),
            };
            let prepare = judge.problem.prepare_symbol();
            Ok(judge.builder.candidate(source, &unit, prepare.as_deref())?.map(Code::Artefact))
        }
        Arm::Ceiling(name) => kernel(judge, name, None).map(Ok),
        Arm::Library(library) => prebuilt(judge, library).map(Ok),
        Arm::Baseline(text) => {
            let (name, percent) = match text.split_once('+') {
                Some((name, percent)) => (name, Some(percent)),
                None => (text.as_str(), None),
            };
            let found = judge.problem.baseline(name).map(|baseline| baseline.code.clone());
            match found {
                Some(BaselineCode::Source(source)) => resolve(judge, &Arm::Source(source)),
                Some(BaselineCode::Builtin(kernel_name)) => kernel(judge, &kernel_name, percent).map(Ok),
                None => kernel(judge, name, percent).map(Ok),
            }
        }
    }
}

fn prebuilt(judge: &Judge, library: &Library) -> Result<Code, EnvError> {
    let path = library.path.display();
    let bytes = std::fs::read(&library.path).map_err(|error| EnvError::Job(format!("{path}: {error}")))?;
    if Digest::of(&bytes) != library.digest {
        return Err(EnvError::Job(format!("{path} has changed since it was named: ask again")));
    }
    let problem = &judge.problem;
    let exports = library::exports(&bytes, problem)
        .map_err(|unfit| EnvError::Job(format!("{path}: {unfit}; {}", unfit.fix())))?;
    let shim = match exports {
        Exports::Entry => None,
        Exports::Function => Some(problem.shim(None)),
        Exports::FunctionAndPrepare => Some(problem.shim(problem.prepare_symbol().as_deref())),
    };
    Ok(Code::Artefact(judge.builder.prebuilt(&bytes, shim.as_deref())?))
}

fn kernel(judge: &mut Judge, name: &str, percent: Option<&str>) -> Result<Code, EnvError> {
    if kernels::find(name).is_none() {
        let names: Vec<_> = judge.problem.baselines.iter().map(|baseline| baseline.name.as_str()).collect();
        return Err(EnvError::Job(format!("no baseline is named `{name}`: this problem has {}", names.join(", "))));
    }
    let spin = match percent {
        None => 0,
        Some(text) => {
            let share: f64 = text
                .strip_suffix('%')
                .and_then(|number| number.parse().ok())
                .filter(|share| (0.0..=1000.0).contains(share))
                .ok_or_else(|| EnvError::Job(format!("`+{text}` is not a slow-down: write it like `{name}+2%`")))?;
            judge.spin_for(name, share / 100.0)?
        }
    };
    Ok(Code::Kernel { name: name.to_owned(), spin })
}

/// Sizes the probe on `side` so that one call takes about as long as a call of the other side.
///
/// # Errors
/// When there is no memory.
pub fn fit_ceiling(judge: &mut Judge, sides: &mut [Side; 2], side: usize, call: Duration) -> Result<(), EnvError> {
    let Code::Kernel { name, .. } = &sides[side].code else { return Ok(()) };
    let name = name.clone();
    let code = sides[side].code.clone();
    let workload = sides[side].workload.clone();
    // A memory probe's working set is the workload's own traffic, so that both live on the same level.
    let elements = (judge.problem.work(&workload).bytes.0 / 4.0) as i64;
    let elements = elements.clamp(1 << 10, 1 << 24) & !1023;
    let mut repeats = 1;
    for _ in 0..5 {
        let probe = Side::probe(code.clone(), &name, repeats, elements, workload.clone()).map_err(SandboxError::Os)?;
        let time = judge.time_once(&probe)?;
        let factor = (call.as_secs_f64() / time.as_secs_f64().max(1e-6)).clamp(1e-3, 1e3);
        if (0.8..1.25).contains(&factor) {
            break;
        }
        repeats = ((repeats as f64 * factor) as i64).max(1);
    }
    sides[side] = Side::probe(code, &name, repeats, elements, workload).map_err(SandboxError::Os)?;
    Ok(())
}

/// Work of one call of the probe on `side`, over the work of the same kind in one call of the candidate. None where
/// the candidate has no such work.
pub fn probe_ratio(side: &Side, work: &model::Work) -> Option<f64> {
    let Code::Kernel { name, .. } = &side.code else { return None };
    let kinds = [
        (kernels::flop(name, &side.sizes), work.flop.0),
        (kernels::exps(name, &side.sizes), work.exp.0),
        (kernels::bytes(name, &side.sizes), work.bytes.0),
    ];
    kinds.into_iter().find_map(|(probe, candidate)| {
        let probe = probe.filter(|amount| *amount > 0.0)?;
        (candidate > 0.0).then(|| probe / candidate)
    })
}
