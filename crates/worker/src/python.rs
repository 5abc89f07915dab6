//! The Python runner's outer half: confines itself, then becomes the interpreter that runs `python-runner.py`.
//!
//! Arguments: `__python confined|confined-wide|unconfined FOLDERS INTERPRETER PLAN ARGUMENT...` where FOLDERS are what the
//! interpreter reads beyond the system's, PLAN is the judge's JSON for the script, and each ARGUMENT is `r:BYTES` or
//! `w:BYTES`, backed by the descriptor of the same position. The script seals itself with the filter made here; the judge
//! looks at the filters from outside and gives leave before a line of the candidate's runs.

use crate::confine::{self, Missing, missing};
use crate::runner;
use protocol::{CONFINED_WIDE, Control, EXIT_USAGE, GUARD, MAX_ARGUMENTS, Order, STATE_SANDBOX_FAILED, UNCONFINED};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::offset_of;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = include_str!("python-runner.py");
/// Address space beyond the arguments: an interpreter with PyTorch maps some 4 GB.
const ADDRESS_SPACE: u64 = 12 << 30;
/// CPU seconds of one runner.
const CPU: u64 = 600;

/// Runs the role. Never returns.
pub fn python_main() -> ! {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [mode, folders, interpreter, plan, buffers @ ..] = arguments.as_slice() else { std::process::exit(EXIT_USAGE) };
    let control = runner::map_control();
    let seal = if mode == UNCONFINED {
        "-".to_owned()
    } else {
        match confine_python(mode, &protocol::paths(folders), buffers) {
            Ok(seal) => seal,
            Err(Missing(step)) => runner::end(control, STATE_SANDBOX_FAILED, &step),
        }
    };
    let mut command = Command::new(interpreter);
    command.args(["-I", "-B", "-c", SCRIPT, &layout(), &seal, plan]).args(buffers).env_clear();
    // One thread: a pool would be made before the seal, and the judge counts tasks.
    for threads in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"] {
        command.env(threads, "1");
    }
    let error = command.env("HOME", "/nonexistent").env("LC_ALL", "C.UTF-8").exec();
    runner::end(control, STATE_SANDBOX_FAILED, &format!("`{interpreter}` did not start: {error}"))
}

/// Everything but the seal, which is returned for the script to put on.
fn confine_python(mode: &str, folders: &[PathBuf], buffers: &[String]) -> Result<String, Missing> {
    let mapped: u64 = buffers.iter().filter_map(|text| text.get(2..)?.parse::<u64>().ok()).sum();
    confine::limit(libc::RLIMIT_AS, mapped + ADDRESS_SPACE)?;
    confine::limit(libc::RLIMIT_CPU, CPU)?;
    confine::limit(libc::RLIMIT_CORE, 0)?;
    confine::limit(libc::RLIMIT_FSIZE, 0)?;
    confine::drop_privileges()?;
    // Libraries ask which processor they run on, and some end the process when nobody answers.
    let sees: Vec<PathBuf> = folders.iter().cloned().chain([PathBuf::from("/proc/cpuinfo")]).collect();
    confine::files(None, &sees)?;
    let seal = seal(mode)?;
    confine::interpreter_only()?;
    Ok(seal)
}

/// What an interpreter needs to compute: memory, locks, its own end. All else kills it. New code can only come where a
/// library compiles while it runs: it could call nothing that the interpreter can't.
fn seal(mode: &str) -> Result<String, Missing> {
    let calls = [
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_getrandom,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let no_code =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
        let rule = no_code.and_then(|condition| SeccompRule::new(vec![condition]));
        let rule = rule.map_err(|error| missing("seccomp", error))?;
        rules.insert(call, if mode == CONFINED_WIDE { Vec::new() } else { vec![rule] });
    }
    let filter = SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, confine::arch()?)
        .map_err(|error| missing("seccomp", error))?;
    let program: BpfProgram = filter.try_into().map_err(|e: seccompiler::BackendError| missing("seccomp", e))?;
    let mut hex = String::with_capacity(program.len() * 16);
    for step in program {
        for byte in step.code.to_ne_bytes().into_iter().chain([step.jt, step.jf]).chain(step.k.to_ne_bytes()) {
            let _ = write!(hex, "{byte:02x}");
        }
    }
    Ok(hex)
}

/// The control page's layout, so that the script holds no number of its own.
fn layout() -> String {
    let order = offset_of!(Control, order);
    let places = [
        ("page", size_of::<Control>().next_multiple_of(4096)),
        ("go", offset_of!(Control, go)),
        ("op", order + offset_of!(Order, op)),
        ("calls", order + offset_of!(Order, calls)),
        ("sizes", order + offset_of!(Order, sizes)),
        ("offsets", order + offset_of!(Order, offsets)),
        ("row", MAX_ARGUMENTS),
        ("done", offset_of!(Control, done)),
        ("state", offset_of!(Control, state)),
        ("note", offset_of!(Control, note)),
        ("note_bytes", protocol::NOTE),
        ("guard", GUARD),
        ("op_call", protocol::OP_CALL as usize),
        ("op_prepare", protocol::OP_PREPARE as usize),
        ("ready", protocol::STATE_READY as usize),
        ("load_failed", protocol::STATE_LOAD_FAILED as usize),
        ("sandbox_failed", protocol::STATE_SANDBOX_FAILED as usize),
        ("reading", protocol::STATE_READING as usize),
        ("sealed", protocol::STATE_SEALED as usize),
        ("raised", protocol::STATE_RAISED as usize),
        ("control", protocol::FD_CONTROL as usize),
        ("source", protocol::FD_ARTEFACT as usize),
        ("arguments", protocol::FD_ARGUMENTS as usize),
        ("seccomp", libc::SYS_seccomp as usize),
    ];
    let fields: Vec<String> = places.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_names_every_place_once() {
        let layout = layout();
        assert!(layout.starts_with("{\"page\":") && layout.ends_with('}'), "{layout}");
        assert_eq!(layout.matches("\"go\":0").count(), 1, "{layout}");
    }

    #[test]
    fn the_seal_is_a_filter_in_whole_steps() {
        for mode in [protocol::CONFINED, CONFINED_WIDE] {
            let Ok(seal) = seal(mode) else { panic!("this platform has a filter") };
            assert!(seal.len() > 16 * 20 && seal.len().is_multiple_of(16));
        }
    }
}
