//! Commands as arms: each run a fresh process, which is the unit of evidence.

use super::process::{Finished, Launch, Output, execute, kill_marked};
use super::watch::{Work, watched};
use super::words;
use crate::engine::{Group, Inside, Rig, Role, Sample, drive};
use crate::environment::Warning;
use crate::{CompareError, Event, Failure, Outcome, Settings, interrupt};
use stats::SplitMix;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Seconds below which a run is mostly the start of a process.
const MOSTLY_START: f64 = 0.005;
/// Most bytes of random padding in the environment: one page moves the stack through every alignment.
const MOST_PADDING: usize = 4096;

/// How a command line becomes a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// Without a shell, unless the command uses shell syntax; then /bin/sh.
    #[default]
    Auto,
    /// Never through a shell.
    None,
    /// Through this one, with `-c`.
    Named(String),
}

/// What becomes of standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outputs {
    /// Thrown away.
    #[default]
    Discard,
    /// Read through a pipe, and the same for all arms, or the comparison ends.
    MustAgree,
    /// Read through a pipe, whatever it is.
    Drain,
}

/// What a failing exit code means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The comparison ends.
    #[default]
    Stop,
    /// Nothing.
    Ignore,
}

/// One command.
#[derive(Clone, Debug, Default)]
pub struct CommandArm {
    /// Its name in reports; the command itself when empty.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Run once before everything.
    pub setup: Option<String>,
    /// Run before each run, untimed.
    pub prepare: Option<String>,
    /// Run once after everything, also after an error.
    pub cleanup: Option<String>,
    /// Working directory.
    pub cwd: Option<PathBuf>,
    /// Environment variables beyond our own.
    pub env: Vec<(String, String)>,
    /// File for standard input.
    pub input: Option<PathBuf>,
}

impl CommandArm {
    /// A bare command.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }

    /// Its name in reports.
    pub fn shown(&self) -> String {
        if self.name.is_empty() { self.command.clone() } else { self.name.clone() }
    }

    /// One arm for each value of a parameter: `{name}` is replaced in the command and its helpers' command lines.
    #[must_use]
    pub fn expand(&self, name: &str, values: &[String]) -> Vec<Self> {
        let hole = format!("{{{name}}}");
        let fill = |text: &str, value: &str| text.replace(&hole, value);
        let expanded = |value: &String| Self {
            name: if self.name.is_empty() { String::new() } else { format!("{} {name}={value}", self.name) },
            command: fill(&self.command, value),
            setup: self.setup.as_deref().map(|text| fill(text, value)),
            prepare: self.prepare.as_deref().map(|text| fill(text, value)),
            cleanup: self.cleanup.as_deref().map(|text| fill(text, value)),
            ..self.clone()
        };
        values.iter().map(expanded).collect()
    }
}

/// Commands and how they are run.
#[derive(Clone, Debug)]
pub struct CommandsPlan {
    /// At least two; the first is A.
    pub arms: Vec<CommandArm>,
    /// How lines become processes.
    pub shell: Shell,
    /// What becomes of standard output.
    pub outputs: Outputs,
    /// What a failing exit code means.
    pub on_failure: OnFailure,
    /// Seconds for one run, one build, one setup. A timed run gets the whole budget at most.
    pub limit: f64,
    /// Core that all runs are pinned to.
    pub pin: Option<usize>,
}

impl CommandsPlan {
    /// With the defaults.
    pub fn new(arms: Vec<CommandArm>) -> Self {
        Self {
            arms,
            shell: Shell::Auto,
            outputs: Outputs::Discard,
            on_failure: OnFailure::Stop,
            limit: 600.0,
            pin: None,
        }
    }

    /// All that decides how long A's runs take and how they scatter.
    pub(crate) fn first_arm(&self) -> String {
        let here = std::env::current_dir().ok();
        let arm = self.arms.first().map(|arm| (&arm.command, &arm.prepare, &arm.cwd, &arm.env, &arm.input));
        format!("{here:?} {arm:?} {:?} {:?} {:?} {:?}", self.shell, self.outputs, self.on_failure, self.pin)
    }
}

/// Runs the comparison of commands: the first against all others.
pub(crate) fn run(plan: &CommandsPlan, settings: &Settings, on: &mut dyn FnMut(&Event)) -> Result<Outcome, Failure> {
    let group = Group { arms: (0..plan.arms.len()).collect(), role: Role::Main };
    run_groups(plan, &[group], settings, on)
}

/// As [`run`], with the groups given.
pub(crate) fn run_groups(
    plan: &CommandsPlan,
    groups: &[Group],
    settings: &Settings,
    on: &mut dyn FnMut(&Event),
) -> Result<Outcome, Failure> {
    if plan.arms.len() < 2 {
        return Err(CompareError::Usage("a comparison needs two commands; separate them by `--`".to_owned()).into());
    }
    let mut rig = CommandRig::new(plan, settings)?;
    let result = watched(Work::Ours, plan.pin, on, |on| {
        rig.set_up().map_err(Failure::from).and_then(|()| drive(&mut rig, groups, settings, on))
    });
    cleaned_up(result, rig.clean_up())
}

/// A failed cleanup is an error, but what was measured is kept.
pub(super) fn cleaned_up(
    result: Result<Outcome, Failure>,
    cleaned: Result<(), CompareError>,
) -> Result<Outcome, Failure> {
    let outcome = result?;
    match cleaned {
        Ok(()) => Ok(outcome),
        Err(error) => Err(Failure { error, kept: Some(Box::new(outcome)) }),
    }
}

pub(super) struct CommandRig<'a> {
    plan: &'a CommandsPlan,
    launches: Vec<Launch>,
    sides: Vec<usize>,
    random: SplitMix,
    begun: Instant,
    mark: String,
    left_children: Vec<usize>,
    disk: Vec<FromDisk>,
    shortest: f64,
    /// Seconds for one timed run: one that outlasts the budget could never be compared.
    limit: f64,
}

/// How often an arm's files were not in the page cache, its first run aside.
#[derive(Clone, Copy, Debug, Default)]
struct FromDisk {
    runs: usize,
    reading: usize,
    bytes: u64,
}

impl FromDisk {
    fn count(&mut self, bytes: u64) {
        self.runs += 1;
        if self.runs > 1 {
            self.reading += usize::from(bytes > 0);
            self.bytes += bytes;
        }
    }

    /// A stray page is not worth a word.
    fn warning(&self, arm: &str) -> Option<Warning> {
        (self.reading * 10 >= self.runs && self.bytes >= 1 << 20).then(|| {
            Warning::new(
                format!(
                    "`{arm}` read {:.0} MB from disk in {} of {} runs: the page cache does not hold its files",
                    self.bytes as f64 / 1e6,
                    self.reading,
                    self.runs - 1
                ),
                "bring both arms to the same state before each run, e.g. --prepare 'cat FILES > /dev/null'",
            )
        })
    }
}

impl<'a> CommandRig<'a> {
    pub(super) fn new(plan: &'a CommandsPlan, settings: &Settings) -> Result<Self, CompareError> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let launch = |arm: &CommandArm| launch(plan, arm, &arm.command, &mark);
        let launches = plan.arms.iter().map(launch).collect::<Result<_, _>>()?;
        Ok(Self {
            plan,
            launches,
            sides: Vec::new(),
            // Not the coin's stream.
            random: SplitMix::new(settings.seed ^ 0x5EED_0F9A_D0FF_5E75),
            begun: Instant::now(),
            mark,
            left_children: Vec::new(),
            disk: vec![FromDisk::default(); plan.arms.len()],
            shortest: f64::INFINITY,
            limit: plan.limit.min(settings.budget),
        })
    }

    pub(super) fn set_up(&self) -> Result<(), CompareError> {
        self.plan.arms.iter().try_for_each(|arm| self.aside(arm, arm.setup.as_deref(), 0))
    }

    /// Runs every cleanup, also after an interrupt, kills what has escaped, and reports the first error.
    pub(super) fn clean_up(&self) -> Result<(), CompareError> {
        let forgives = interrupt::count();
        let clean = |arm: &CommandArm| self.aside(arm, arm.cleanup.as_deref(), forgives);
        let cleaned: Vec<_> = self.plan.arms.iter().map(clean).collect();
        kill_marked(&self.mark);
        cleaned.into_iter().collect()
    }

    /// A command that is not timed; through a shell if it needs one.
    fn aside(&self, arm: &CommandArm, command: Option<&str>, forgives: usize) -> Result<(), CompareError> {
        let Some(command) = command else { return Ok(()) };
        let aside = launch(self.plan, arm, command, &self.mark)?;
        let launch = Launch { input: None, output: Output::Discard, forgives, ..aside };
        let finished = execute(&launch)?;
        if finished.status.success() { Ok(()) } else { Err(failed(&launch, finished)) }
    }
}

fn launch(plan: &CommandsPlan, arm: &CommandArm, command: &str, mark: &str) -> Result<Launch, CompareError> {
    let through = |shell: &str| -> Result<Vec<String>, CompareError> {
        let mut words = words::split(shell)?;
        words.extend(["-c".to_owned(), command.to_owned()]);
        Ok(words)
    };
    let words = match &plan.shell {
        Shell::Named(shell) => through(shell)?,
        Shell::Auto if words::needs_shell(command) => through("/bin/sh")?,
        Shell::Auto | Shell::None => words::split(command)?,
    };
    Ok(Launch {
        shown: command.to_owned(),
        words,
        cwd: arm.cwd.clone(),
        env: arm.env.clone(),
        input: arm.input.clone(),
        output: if plan.outputs == Outputs::Discard { Output::Discard } else { Output::Digest },
        limit: plan.limit,
        mark: mark.to_owned(),
        padding: 0,
        forgives: 0,
    })
}

fn failed(launch: &Launch, finished: Finished) -> CompareError {
    CompareError::Failed { command: launch.shown.clone(), how: finished.how(), stderr: finished.stderr }
}

impl Rig for CommandRig<'_> {
    fn names(&self) -> Vec<String> {
        self.plan.arms.iter().map(CommandArm::shown).collect()
    }

    fn open(&mut self, sides: &[usize]) -> Result<(), CompareError> {
        self.sides = sides.to_vec();
        Ok(())
    }

    fn run(&mut self, side: usize) -> Result<Sample, CompareError> {
        let index = self.sides[side];
        let arm = &self.plan.arms[index];
        self.aside(arm, arm.prepare.as_deref(), 0)?;
        let launch = &mut self.launches[index];
        launch.padding = 1 + self.random.below(MOST_PADDING);
        launch.limit = self.limit;
        let finished = pinned(self.plan.pin, || execute(launch))?;
        if !finished.status.success() && self.plan.on_failure == OnFailure::Stop {
            return Err(failed(launch, finished));
        }
        if finished.left_children && !self.left_children.contains(&index) {
            self.left_children.push(index);
        }
        self.shortest = self.shortest.min(finished.sample.wall);
        self.disk[index].count(finished.from_disk);
        let mut sample = finished.sample;
        if self.plan.outputs == Outputs::Drain {
            sample.output = None;
        }
        Ok(sample)
    }

    fn inside(&self) -> Inside {
        Inside::FreshProcess
    }

    fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let mut found: Vec<Warning> = self.left_children.iter().map(|index| left(&self.plan.arms[*index])).collect();
        let from_disk = |(arm, disk): (&CommandArm, &FromDisk)| disk.warning(&arm.shown());
        found.extend(self.plan.arms.iter().zip(&self.disk).filter_map(from_disk));
        if self.shortest < MOSTLY_START {
            found.push(Warning::new(
                format!("runs take {}: mostly the start of a process", crate::markdown::seconds(self.shortest)),
                "give each run more work, or repeat the work inside the command",
            ));
        }
        found
    }
}

fn left(arm: &CommandArm) -> Warning {
    Warning::new(
        format!("`{}` left processes behind, which were killed", arm.shown()),
        "let it wait for its children, or their time is not in the measurement",
    )
}

/// Runs `action` with this thread, and so the process that it starts, on one core.
#[cfg(target_os = "linux")]
fn pinned<T>(core: Option<usize>, action: impl FnOnce() -> Result<T, CompareError>) -> Result<T, CompareError> {
    let Some(core) = core else { return action() };
    // SAFETY: a zeroed set is empty, and both sets live through the calls.
    unsafe {
        let size = std::mem::size_of::<libc::cpu_set_t>();
        let mut before: libc::cpu_set_t = std::mem::zeroed();
        let mut wanted: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size, &raw mut before);
        if core < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(core, &mut wanted);
        }
        if libc::sched_setaffinity(0, size, &raw const wanted) != 0 {
            return Err(CompareError::Usage(format!(
                "--pin {core}: there is no such core for this process; see `nproc`"
            )));
        }
        let result = action();
        libc::sched_setaffinity(0, size, &raw const before);
        result
    }
}

#[cfg(not(target_os = "linux"))]
fn pinned<T>(core: Option<usize>, action: impl FnOnce() -> Result<T, CompareError>) -> Result<T, CompareError> {
    match core {
        None => action(),
        Some(_) => Err(CompareError::Usage("--pin is not available on this system; leave it away".to_owned())),
    }
}

#[cfg(test)]
mod tests;
