//! Any program as a respondent: the prompt on its standard input, the reply on its standard output.
//!
//! It runs in an empty folder, with the user's own rights: what it may do is the user's choice, what it sees is the
//! prompt. Nothing that it starts outlives the call.

use crate::ask::{Ask, AskError, Asked, Ended, Progress, Prompt, Reply, Respondent, Usage, Verbatim};
use model::Seconds;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most bytes of a reply that are read; the rest is thrown away.
const MOST_BYTES: usize = 16 << 20;
/// Bytes of standard error that a failure shows the end of.
const SAID: usize = 600;
/// How often to look whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long its pipes may stay open after its end: something that got away may hold them.
const LINGER: Duration = Duration::from_secs(2);
/// Names the call in the environment of all that it starts, so that what left its process group is found.
const MARK: &str = "ROOFLAB_PROPOSAL";
/// Rounds of killing what carries the mark: what forks while it is looked for is found in the next one.
const ROUNDS: usize = 50;

/// A command line, given to `sh`.
pub struct Program {
    command: String,
    name: String,
}

impl Program {
    /// Of a command line. In records it goes by its first word: the others may hold secrets.
    pub fn new(command: &str) -> Self {
        let first = command.split_whitespace().next().unwrap_or("sh");
        let program = first.rsplit('/').next().unwrap_or(first);
        Self { command: command.to_owned(), name: format!("command:{program}") }
    }

    fn run(&self, prompt: &Prompt, ask: &mut Ask<'_>, end: Instant) -> Result<Reply, AskError> {
        let folder = tempfile::Builder::new().prefix("rooflab-proposal-").tempdir().map_err(|e| self.failed(&e))?;
        let mark = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]).current_dir(folder.path()).env(MARK, &mark).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        die_with_parent(&mut command);
        let running = Running::start(&mut command, mark, prompt.to_text()).map_err(|e| self.failed(&e))?;
        let ended = running.wait(ask, end);
        let (status, stdout, stderr) = running.finish();
        let how = match (ended?, status) {
            (End::TimedOut, _) if stdout.is_empty() => {
                return Err(AskError::TimedOut { limit: Seconds(ask.limit.as_secs_f64()) });
            }
            (End::TimedOut, _) => Ended::Cut,
            (End::Exited, Some(status)) if status.success() => Ended::Unsaid,
            (End::Exited, status) => return Err(self.failed(&format!("{}{}", how(status), tail(&stderr)))),
        };
        let usage = Usage::estimated(prompt.bytes(), stdout.len());
        Ok(Reply { text: Verbatim(stdout), ended: how, usage, model: self.name.clone() })
    }

    fn failed(&self, how: &dyn std::fmt::Display) -> AskError {
        AskError::Failed { command: self.name.clone(), how: how.to_string() }
    }
}

impl Respondent for Program {
    fn ask(&mut self, prompt: &Prompt, ask: &mut Ask<'_>) -> Asked {
        let begun = Instant::now();
        let result = self.run(prompt, ask, begun + ask.limit);
        Asked { result, time: Seconds(begun.elapsed().as_secs_f64()) }
    }

    fn name(&self) -> &str {
        &self.name
    }
}

fn how(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "was lost".to_owned() };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or(0)),
    }
}

fn tail(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(SAID)..]);
    if text.trim().is_empty() { String::new() } else { format!(": {}", text.trim()) }
}

enum End {
    Exited,
    TimedOut,
}

/// A program that runs, and the threads on its pipes.
struct Running {
    child: Child,
    mark: String,
    stdout: Pipe,
    stderr: Pipe,
}

impl Running {
    fn start(command: &mut Command, mark: String, input: String) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that doesn't read its input closes the pipe; that is its affair.
            std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        }
        let (stdout, stderr) = (Pipe::new(child.stdout.take()), Pipe::new(child.stderr.take()));
        Ok(Self { child, mark, stdout, stderr })
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Until it has exited, the limit has passed or someone stops it.
    fn wait(&self, ask: &mut Ask<'_>, end: Instant) -> Result<End, AskError> {
        while !has_exited(self.pid()) {
            if Instant::now() >= end {
                return Ok(End::TimedOut);
            }
            ask.tell(Progress { bytes: self.stdout.len(), ..Progress::default() })?;
            std::thread::sleep(LOOK);
        }
        Ok(End::Exited)
    }

    /// Kills all that is left of it, and gives what it wrote.
    fn finish(mut self) -> (Option<ExitStatus>, Vec<u8>, Vec<u8>) {
        // SAFETY: kill has no memory effects; the child isn't reaped yet, so the number is its own.
        unsafe { libc::kill(-self.pid(), libc::SIGKILL) };
        let status = self.child.wait().ok();
        kill_marked(&self.mark);
        (status, self.stdout.finish(), self.stderr.finish())
    }
}

/// What comes out of a pipe, read by a thread of its own.
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Pipe {
    fn new(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut buffer = vec![0; 1 << 16];
            loop {
                let n = match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(n) => n,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_BYTES.saturating_sub(kept.len()).min(n);
                kept.extend_from_slice(&buffer[..room]);
            }
        });
        Self { bytes, thread }
    }

    fn len(&self) -> usize {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// All of it; what there is, where something that got away holds the pipe open.
    fn finish(self) -> Vec<u8> {
        let end = Instant::now() + LINGER;
        while !self.thread.is_finished() && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the child has ended; leaves it unreaped, so that its number stays taken.
fn has_exited(pid: i32) -> bool {
    // SAFETY: info is written by the call and lives through it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags) == -1 || info.si_signo != 0
    }
}

/// Ends the program when rooflab is killed: nothing else would.
fn die_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: prctl is safe to call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Kills what carries the mark in its environment, until nothing does. Does nothing where there is no /proc.
fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    for _ in 0..ROUNDS {
        let Ok(entries) = std::fs::read_dir("/proc") else { return };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked: Vec<i32> = pids.filter(|pid| carries(*pid, wanted.as_bytes())).collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            // SAFETY: kill has no memory effects.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process that has ended and isn't reaped has no environment any more.
fn carries(pid: i32, wanted: &[u8]) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}
