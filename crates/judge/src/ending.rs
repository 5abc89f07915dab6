//! How a runner ended when it should not have, and what that says of its candidate.
//!
//! Must not look at a process: the runner's owner does.

use model::{Rule, Stage, Verdict};
use std::time::Duration;

/// How a runner ended when it should have gone on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It left by itself.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It touched what it may not: the signal, the address, and where that lies.
    Fault(i32, String, Option<Rule>),
    /// It outran its limit.
    TimedOut(Duration),
    /// Whoever asked does not want to wait for it any more.
    Interrupted,
    /// A Python candidate raised an exception.
    Raised(String),
    /// It reported a batch done while this many of its threads, of so many, were still at work.
    AtWork(usize, usize),
}

impl Ending {
    /// What that says about the candidate.
    pub fn verdict(&self) -> Verdict {
        let failed = |stage, cause: String| Verdict::Failed { stage, cause };
        match self {
            Self::Signalled(libc::SIGSYS) => Verdict::Refused {
                rule: Rule::SystemCall,
                detail: "it made a system call during a call; the kernel ended it".to_owned(),
            },
            Self::Fault(_, place, Some(rule)) => Verdict::Refused { rule: *rule, detail: place.clone() },
            Self::Fault(signal, place, None) => failed(Stage::Crashed, format!("{} {place}", signal_name(*signal))),
            Self::Signalled(libc::SIGXCPU) => failed(Stage::TimedOut, "it used up its CPU time".to_owned()),
            Self::Signalled(signal) => failed(Stage::Crashed, signal_name(*signal)),
            Self::Exited(code) => failed(Stage::Crashed, format!("it ended its process with code {code}")),
            // NumPy's own words for a write to an argument that is an input.
            Self::Raised(note) if note.contains("read-only") => {
                Verdict::Refused { rule: Rule::WroteInput, detail: note.clone() }
            }
            Self::Raised(note) if note.contains("INCORRECT_") => failed(Stage::Invalid, note.clone()),
            Self::Raised(note) => failed(Stage::Crashed, note.clone()),
            Self::AtWork(astray, threads) => Verdict::Refused {
                rule: Rule::ExtraThread,
                detail: format!("{astray} of {threads} threads were still at work when the batch was reported done"),
            },
            Self::TimedOut(limit) => {
                failed(Stage::TimedOut, format!("no answer within {}", model::Seconds::from(*limit)))
            }
            // It says nothing.
            Self::Interrupted => Verdict::Undecided,
        }
    }
}

/// A signal's own name.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGKILL => "SIGKILL (memory or another limit)",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTRAP => "SIGTRAP",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}
