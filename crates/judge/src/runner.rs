//! The judge's end of one runner: start, seal checked from outside, stop, timed batch, end.
//!
//! Nothing that the runner writes is believed but "this sequence number is done"; the clock is the judge's own.

use crate::builder::Artefact;
use crate::cgroup::Member;
use crate::cores::Cores;
use crate::ending::{Ending, signal_name};
use crate::interrupt;
use crate::library;
use crate::memory::Memory;
use crate::python::{Array, PythonCode};
use crate::sandbox::{Child, Confinement, SandboxError, Start};
use crate::seal;
use crate::standing::Ground;
use model::{Rule, Stage, Verdict};
use protocol::{
    Control, MAX_ARGUMENTS, Order, STATE_FAULT, STATE_LOAD_FAILED, STATE_LOADING, STATE_RAISED, STATE_READING,
    STATE_SANDBOX_FAILED, STATE_SEALED,
};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Loading takes 5-10 ms; a machine under load may take far longer.
const LOAD_LIMIT: Duration = Duration::from_secs(20);
/// An interpreter with NumPy takes 0.2 s to start, with PyTorch 2 s, and more on a loaded machine.
const INTERPRETER_LIMIT: Duration = Duration::from_secs(60);
/// Spins between two looks at whether the runner still lives: about 0.3 ms.
const SPINS: u32 = 1 << 13;

/// Sleep between two looks at `done` where the judge shares its core with a candidate, and batches last 10 ms and more.
const NAP: Duration = Duration::from_micros(50);

/// What a runner calls.
#[derive(Clone)]
pub enum Code {
    /// An artefact of the builder's.
    Artefact(Rc<Artefact>),
    /// Code of our own, by name, with extra loop turns after every call.
    Kernel {
        /// As `kernels::find` knows it.
        name: String,
        /// Loop turns.
        spin: u64,
    },
    /// A Python candidate, for an interpreter of its own.
    Python(Rc<PythonCode>),
}

/// One argument's memory as the runner gets it.
#[derive(Clone)]
pub struct Argument {
    /// The memory.
    pub memory: Rc<Memory>,
    /// Whether the runner may write it.
    pub writable: bool,
    /// What it is to an interpreter; our own probes have none.
    pub array: Option<Rc<Array>>,
}

/// Why a runner did not come up.
#[derive(Debug)]
pub enum StartFailure {
    /// The environment.
    Sandbox(SandboxError),
    /// The candidate.
    Candidate(Verdict),
}

impl From<SandboxError> for StartFailure {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

/// A runner, stopped except during its batches.
pub struct Runner {
    child: Child,
    control: Memory,
    arguments: Vec<Argument>,
    /// Of the last order; an interpreter's first is the leave to run the candidate's text.
    sequence: u32,
    /// Whether the judge shares its core with it: then a judge that spins would wait for the runner for ever.
    shares_core: bool,
    /// Threads beside the calling one.
    pool: usize,
    /// Where all of its threads have to stand when a batch is done; none without a pool, or where a build has no such
    /// place.
    ground: Option<Ground>,
}

impl Runner {
    /// Starts a runner, lets it load and seal itself, checks the seal from outside, and stops it.
    ///
    /// # Errors
    /// The environment's failure, or the candidate's verdict.
    pub fn start(
        confinement: Confinement,
        code: &Code,
        arguments: &[Argument],
        cores: &Cores,
    ) -> Result<Self, StartFailure> {
        assert!(arguments.len() <= MAX_ARGUMENTS, "more arguments than the control page has room for");
        let os = |e| StartFailure::Sandbox(SandboxError::Os(e));
        let control = Memory::new(size_of::<Control>()).map_err(os)?;
        let mut descriptors = vec![(control.descriptor(), protocol::FD_CONTROL)];
        // Code of our own has one thread, and an interpreter has its own.
        let pool = if matches!(code, Code::Artefact(_)) { cores.pool.as_slice() } else { &[] };
        let runner = |code: String, spin: u64| {
            let role = [protocol::RUNNER_ROLE, confinement.word()].map(str::to_owned);
            role.into_iter().chain([code, spin.to_string(), pool_word(pool)]).collect()
        };
        let mut sees: &[PathBuf] = &[];
        let mut words: Vec<String> = match code {
            Code::Artefact(artefact) => {
                descriptors.push((artefact.file.as_raw_fd(), protocol::FD_ARTEFACT));
                descriptors.extend(artefact.behind.as_ref().map(|file| (file.as_raw_fd(), protocol::FD_LIBRARY)));
                let word = if artefact.behind.is_some() { protocol::LIBRARY } else { protocol::ARTEFACT };
                runner(word.to_owned(), 0)
            }
            Code::Kernel { name, spin } => runner(format!("kernel:{name}"), *spin),
            Code::Python(python) => {
                descriptors.push((python.source.as_raw_fd(), protocol::FD_ARTEFACT));
                sees = &python.interpreter.folders;
                python.words(confinement, arguments)
            }
        };
        for (i, argument) in arguments.iter().enumerate() {
            words.push(format!("{}:{}", if argument.writable { "w" } else { "r" }, argument.memory.len()));
            descriptors.push((argument.memory.descriptor(), protocol::FD_ARGUMENTS + i as i32));
        }
        let start = Start {
            confinement,
            arguments: &words,
            descriptors: &descriptors,
            core: cores.runner,
            member: Member::Runner,
            writable: None,
            sees,
        };
        let child = Child::start(&start)?;
        let mut runner = Self {
            child,
            control,
            arguments: arguments.to_vec(),
            sequence: 0,
            shares_core: cores.are_shared(),
            pool: pool.len(),
            ground: None,
        };
        if let Code::Python(python) = code {
            runner.await_seal(python, confinement)?;
        }
        runner.await_ready(confinement)?;
        Ok(runner)
    }

    /// Waits for an interpreter's seal, and lets it go on to the candidate's first line once the kernel has confirmed it.
    /// What goes wrong before the candidate's text is read is the environment's fault, what goes wrong after is not.
    fn await_seal(&mut self, python: &PythonCode, confinement: Confinement) -> Result<(), StartFailure> {
        let begin = Instant::now();
        loop {
            // Asked first: it may say what is wrong, and end.
            let ended = self.child.ended();
            let state = self.state();
            match state {
                STATE_LOADING | STATE_READING => {}
                STATE_SEALED => break,
                _ => return Ok(()),
            }
            let how = match ended {
                Some(status) if libc::WIFSIGNALED(status) => signal_name(libc::WTERMSIG(status)),
                Some(status) => format!("code {}", libc::WEXITSTATUS(status)),
                None if begin.elapsed() > INTERPRETER_LIMIT => format!("nothing within {INTERPRETER_LIMIT:?}"),
                None => {
                    std::thread::sleep(Duration::from_micros(200));
                    continue;
                }
            };
            if state == STATE_LOADING {
                return Err(StartFailure::Sandbox(python.interpreter.broken(&how)));
            }
            let cause = format!("the interpreter was reading its text and loading what it imports: {how}");
            return Err(StartFailure::Candidate(Verdict::Failed { stage: Stage::Load, cause }));
        }
        if confinement == Confinement::Confined {
            seal::check(self.child.pid(), 1).map_err(StartFailure::Candidate)?;
        }
        self.sequence = 1;
        // SAFETY: the page lives as long as `self`.
        unsafe { (*self.page()).go.store(self.sequence, Ordering::Release) };
        Ok(())
    }

    /// Whether nothing of a candidate's has run yet, so that what the runner says is our own code's word.
    fn is_ours(&self) -> bool {
        self.sequence == 0
    }

    fn await_ready(&mut self, confinement: Confinement) -> Result<(), StartFailure> {
        let begin = Instant::now();
        while matches!(self.state(), STATE_LOADING | STATE_SEALED) && self.child.ended().is_none() {
            if begin.elapsed() > LOAD_LIMIT {
                let cause = "it did not load in time".to_owned();
                return Err(StartFailure::Candidate(Verdict::Failed { stage: Stage::Load, cause }));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        match self.state() {
            STATE_SANDBOX_FAILED if self.is_ours() => return Err(SandboxError::Step(self.note()).into()),
            STATE_LOAD_FAILED => {
                let verdict = Verdict::Failed { stage: Stage::Load, cause: library::explained(&self.note()) };
                return Err(StartFailure::Candidate(verdict));
            }
            _ => {}
        }
        if !self.child.stop() {
            let ending = self.ending();
            if self.is_ours() && ending == Ending::Exited(protocol::EXIT_SANDBOX) {
                return Err(SandboxError::Step("a root of its own, or its cgroup".to_owned()).into());
            }
            return Err(StartFailure::Candidate(ending.verdict()));
        }
        if confinement == Confinement::Confined {
            seal::check(self.child.pid(), 1 + self.pool).map_err(StartFailure::Candidate)?;
            self.find_ground()?;
        }
        Ok(())
    }

    /// Where the threads of a pool have to stand, in the runner's own word: nothing of a candidate's has run yet.
    fn find_ground(&mut self) -> Result<(), StartFailure> {
        // SAFETY: the control page lives as long as `self`.
        let [begin, end] = unsafe { (&raw const (*self.page()).ground).read_volatile() };
        if self.pool == 0 || begin == end {
            return Ok(());
        }
        let ground = Ground { begin, end };
        let step = |why: String| SandboxError::Step(format!("a look at the pool's threads (/proc/PID/task): {why}"));
        match ground.look(self.child.pid()) {
            Ok((_, 0)) => self.ground = Some(ground),
            Ok((threads, astray)) => return Err(step(format!("{astray} of {threads} do not wait")).into()),
            Err(error) => return Err(step(error.to_string()).into()),
        }
        Ok(())
    }

    fn page(&self) -> *mut Control {
        self.control.pointer().cast()
    }

    fn state(&self) -> u32 {
        // SAFETY: the control page lives as long as `self`.
        unsafe { (*self.page()).state.0.load(Ordering::Acquire) }
    }

    fn note(&self) -> String {
        // SAFETY: as above; any bytes will do.
        let note = unsafe { (&raw const (*self.page()).note).read_volatile() };
        let end = note.iter().position(|byte| *byte == 0).unwrap_or(note.len());
        String::from_utf8_lossy(&note[..end]).into_owned()
    }

    /// Runs one batch and returns its time by the judge's clock, from before the runner continues to `done`.
    /// The runner is stopped before and after.
    ///
    /// # Errors
    /// How the runner ended instead.
    pub fn batch(&mut self, order: &Order, limit: Duration) -> Result<Duration, Ending> {
        self.batch_watched(order, limit, || ())
    }

    /// The same, and calls `at_done` when the clock has been read and the runner is not stopped yet: stopping it takes
    /// several microseconds, in which a candidate that reported too early could still finish its work.
    ///
    /// # Errors
    /// How the runner ended instead.
    pub fn batch_watched(
        &mut self,
        order: &Order,
        limit: Duration,
        at_done: impl FnOnce(),
    ) -> Result<Duration, Ending> {
        if interrupt::asked() {
            return Err(Ending::Interrupted);
        }
        self.sequence += 1;
        let sequence = self.sequence;
        // SAFETY: the runner is stopped; the page lives as long as `self`.
        let (go, done) = unsafe {
            (&raw mut (*self.page()).order).write_volatile(*order);
            (&(*self.page()).go, &(*self.page()).done.0)
        };
        go.store(sequence, Ordering::Release);
        let begin = Instant::now();
        self.child.proceed();
        let mut spins = 0;
        while done.load(Ordering::Acquire) != sequence {
            if self.shares_core {
                std::thread::sleep(NAP);
            } else {
                std::hint::spin_loop();
            }
            spins += 1;
            if self.shares_core || spins == SPINS {
                spins = 0;
                if self.child.ended().is_some() {
                    return Err(self.ending());
                }
                if begin.elapsed() > limit {
                    return Err(Ending::TimedOut(limit));
                }
                if interrupt::asked() {
                    return Err(Ending::Interrupted);
                }
            }
        }
        let time = begin.elapsed();
        at_done();
        if !self.child.stop() {
            return Err(self.ending());
        }
        match self.ground.map(|ground| ground.look(self.child.pid())) {
            None | Some(Ok((_, 0))) => Ok(time),
            Some(Ok((threads, astray))) => Err(Ending::AtWork(astray, threads)),
            Some(Err(_)) => Err(self.ending()),
        }
    }

    fn ending(&mut self) -> Ending {
        let Some(status) = self.child.wait(Duration::from_secs(1)) else { return Ending::TimedOut(LOAD_LIMIT) };
        if libc::WIFSIGNALED(status) {
            return Ending::Signalled(libc::WTERMSIG(status));
        }
        let code = libc::WEXITSTATUS(status);
        if self.state() == STATE_RAISED {
            return Ending::Raised(self.note());
        }
        if self.state() == STATE_FAULT {
            // SAFETY: the page lives as long as `self`.
            let (address, bases) = unsafe { ((*self.page()).fault, (*self.page()).bases) };
            let (place, rule) = self.locate(address, &bases);
            return Ending::Fault(code - 128, place, rule);
        }
        Ending::Exited(code)
    }

    /// Says where a fault's address lies. Only a classification hangs on it, so the runner's word will do.
    fn locate(&self, address: u64, bases: &[u64; MAX_ARGUMENTS]) -> (String, Option<Rule>) {
        let guard = protocol::GUARD as u64;
        for (i, (argument, base)) in self.arguments.iter().zip(bases).enumerate() {
            let end = base + argument.memory.len() as u64;
            if *base == 0 || address + guard < *base || address >= end + guard {
                continue;
            }
            if (*base..end).contains(&address) && !argument.writable {
                return (format!("it wrote to argument {i}, which it may only read"), Some(Rule::WroteInput));
            }
            let side = if address < *base { "before" } else { "after" };
            return (format!("it touched memory {side} argument {i}"), Some(Rule::OutOfBounds));
        }
        (format!("at address {address:#x}"), None)
    }
}

/// The pool's cores, as a runner reads them.
fn pool_word(cores: &[usize]) -> String {
    if cores.is_empty() {
        return protocol::NO_POOL.to_owned();
    }
    cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
