//! One run of one command: started, timed, drained, and killed with everything that it started.
//!
//! The clock starts before the process does and stops when its exit is seen, before anything is cleaned up. The command
//! leads its own process group; whatever is left of the group after its exit is killed.

use crate::engine::{Printed, Sample};
use crate::{CompareError, interrupt};
use std::hash::Hasher;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Environment variable that marks what we started, so that a process which left its group can be found.
const MARK: &str = "ROOFLAB_COMPARE";
/// Environment variable of random length: it moves the stack, whose alignment alone can make several percent
/// (Mytkowicz et al. 2009).
const PADDING: &str = "ROOFLAB_PADDING";
/// Bytes of standard error that a message needs.
const STDERR_TAIL: usize = 2_000;
/// How long a reader goes on when somebody outside the group still holds the pipe.
const LINGER_MS: i32 = 20;

/// What to run.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// For messages.
    pub(super) shown: String,
    pub(super) words: Vec<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) env: Vec<(String, String)>,
    pub(super) input: Option<PathBuf>,
    /// Whether standard output is read (and digested) rather than discarded.
    pub(super) output: Output,
    /// Seconds.
    pub(super) limit: f64,
    /// Value of the marking variable.
    pub(super) mark: String,
    /// Bytes of padding.
    pub(super) padding: usize,
    /// Interrupts that have come before and do not end it: what cleans up runs in spite of them.
    pub(super) forgives: usize,
}

/// Where standard output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Discard,
    Digest,
}

/// A run that came to its end.
pub(super) struct Finished {
    pub(super) sample: Sample,
    pub(super) status: ExitStatus,
    pub(super) stderr: String,
    /// Whether it left processes behind, which have been killed.
    pub(super) left_children: bool,
    /// Bytes that had to come from a disk, because no page cache held them. 0 where the kernel does not count them.
    pub(super) from_disk: u64,
}

impl Finished {
    /// `exited with 3`, `was killed by signal 11`.
    pub(super) fn how(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None) => "ended oddly".to_owned(),
        }
    }
}

pub(super) fn execute(launch: &Launch) -> Result<Finished, CompareError> {
    let mut command = prepared(launch)?;
    let watchdog = Watchdog::start(launch.limit);
    let start_error = |cause| CompareError::Start { command: launch.shown.clone(), cause };
    let begun = Instant::now();
    let mut child = command.spawn().map_err(start_error)?;
    let pid = child.id() as i32;
    interrupt::watch(pid, launch.forgives);
    watchdog.guard(pid);
    let stderr = Reader::start(child.stderr.take().expect("stderr is a pipe"));
    let stdout = child.stdout.take().map(Reader::start);
    await_exit(pid);
    let wall = begun.elapsed().as_secs_f64();
    interrupt::watch(0, 0);
    let timed_out = watchdog.stop();
    let (status, usage) = reap(pid)?;
    // SAFETY: kill has no memory effects; the group is the child's own.
    let left_children = unsafe { libc::kill(-pid, libc::SIGKILL) } == 0;
    let stderr = stderr.finish();
    let output = stdout.map(|reader| reader.finish().printed);
    if interrupt::count() > launch.forgives {
        return Err(CompareError::Interrupted);
    }
    if timed_out {
        return Err(CompareError::TimedOut { command: launch.shown.clone(), limit: launch.limit });
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    let sample = Sample {
        wall,
        user: Some(seconds(usage.ru_utime)),
        system: Some(seconds(usage.ru_stime)),
        peak_memory: peak_memory(usage.ru_maxrss),
        output,
    };
    let stderr = String::from_utf8_lossy(&stderr.tail).into_owned();
    Ok(Finished { sample, status, stderr, left_children, from_disk: from_disk(&usage) })
}

fn prepared(launch: &Launch) -> Result<Command, CompareError> {
    let (program, arguments) = launch.words.split_first().expect("a command has a first word");
    let mut command = Command::new(program);
    let input = match &launch.input {
        Some(path) => std::fs::File::open(path)
            .map_err(CompareError::system(format!("cannot open the input {}", path.display())))?
            .into(),
        None => Stdio::null(),
    };
    command.args(arguments).stdin(input).stderr(Stdio::piped()).process_group(0);
    command.stdout(if launch.output == Output::Digest { Stdio::piped() } else { Stdio::null() });
    command.envs(launch.env.iter().map(|(key, value)| (key, value))).env(MARK, &launch.mark);
    if launch.padding > 0 {
        command.env(PADDING, "x".repeat(launch.padding));
    }
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    Ok(command)
}

/// Blocks until the process has ended, and leaves it unreaped so that its number stays taken.
fn await_exit(pid: i32) {
    // SAFETY: info is written by the call and not read.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, libc::WEXITED | libc::WNOWAIT) == -1
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
    }
}

fn reap(pid: i32) -> Result<(ExitStatus, libc::rusage), CompareError> {
    let mut status = 0;
    // SAFETY: both out-pointers live through the call.
    let (reaped, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &raw mut status, 0, &raw mut usage), usage)
    };
    if reaped == pid {
        Ok((ExitStatus::from_raw(status), usage))
    } else {
        Err(CompareError::system("cannot wait for the command")(std::io::Error::last_os_error()))
    }
}

/// The kernel starts a child's mark at its parent's own size, so a smaller peak cannot be seen.
fn peak_memory(maxrss: libc::c_long) -> Option<u64> {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    // SAFETY: the out-pointer lives through the call.
    let own = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage.ru_maxrss
    };
    (maxrss > own).then_some(maxrss as u64 * unit)
}

/// The kernel counts blocks of 512 bytes.
fn from_disk(usage: &libc::rusage) -> u64 {
    if cfg!(target_os = "linux") { 512 * u64::try_from(usage.ru_inblock).unwrap_or(0) } else { 0 }
}

/// Kills the group when the limit has passed. Sleeps all the time: it costs the measured command nothing.
struct Watchdog {
    pid: Arc<Mutex<i32>>,
    fired: Arc<AtomicBool>,
    done: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Watchdog {
    fn start(limit: f64) -> Self {
        let (done, ended) = mpsc::channel();
        let pid = Arc::new(Mutex::new(0));
        let fired = Arc::new(AtomicBool::new(false));
        let (its_pid, its_fired) = (Arc::clone(&pid), Arc::clone(&fired));
        let limit = Duration::try_from_secs_f64(limit.max(0.0)).unwrap_or(Duration::MAX);
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                let pid = its_pid.lock().unwrap();
                if *pid > 0 {
                    its_fired.store(true, Ordering::SeqCst);
                    // SAFETY: kill has no memory effects; the number is still taken, see `await_exit`.
                    unsafe { libc::kill(-*pid, libc::SIGKILL) };
                }
            }
        });
        Self { pid, fired, done, thread }
    }

    fn guard(&self, pid: i32) {
        *self.pid.lock().unwrap() = pid;
    }

    /// Whether it had to kill.
    fn stop(self) -> bool {
        *self.pid.lock().unwrap() = 0;
        let _ = self.done.send(());
        let _ = self.thread.join();
        self.fired.load(Ordering::SeqCst)
    }
}

/// What came out of a pipe.
struct Drained {
    tail: Vec<u8>,
    printed: Printed,
}

/// Reads a pipe to its end, keeping a tail and a digest: a command that prints gigabytes blocks on nothing and fills
/// nothing.
struct Reader {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Drained>,
}

impl Reader {
    fn start(pipe: impl Read + AsRawFd + Send + 'static) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let its_ended = Arc::clone(&ended);
        Self { ended, thread: std::thread::spawn(move || drain(pipe, &its_ended)) }
    }

    fn finish(self) -> Drained {
        self.ended.store(true, Ordering::SeqCst);
        self.thread.join().expect("the reader does not panic")
    }
}

fn drain(mut pipe: impl Read + AsRawFd, ended: &AtomicBool) -> Drained {
    let mut buffer = vec![0; 1 << 16];
    let mut tail: Vec<u8> = Vec::new();
    // SipHash with fixed keys: the same in every process of this build.
    #[expect(deprecated, reason = "DefaultHasher promises no fixed keys; SipHasher::new does")]
    let mut digest = std::hash::SipHasher::new();
    let mut length = 0;
    loop {
        let after_end = ended.load(Ordering::SeqCst);
        if !readable(pipe.as_raw_fd()) {
            if after_end {
                break;
            }
            continue;
        }
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                length += n as u64;
                digest.write(&buffer[..n]);
                tail.extend_from_slice(&buffer[n.saturating_sub(STDERR_TAIL)..n]);
                tail.drain(..tail.len().saturating_sub(STDERR_TAIL));
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Drained { tail, printed: Printed { length, digest: digest.finish() } }
}

/// Whether something (or the end) can be read within the lingering time.
fn readable(fd: i32) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd, which lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, LINGER_MS) > 0 }
}

/// Kills every process that carries `mark` in its environment: what left its group by `setsid`. Gives their number.
/// Does nothing where there is no /proc.
pub fn kill_marked(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = std::process::id() as i32;
    pids.filter(|pid| *pid != own && carries(*pid, wanted.as_bytes()))
        // SAFETY: kill has no memory effects.
        .filter(|pid| unsafe { libc::kill(*pid, libc::SIGKILL) } == 0)
        .count()
}

fn carries(pid: i32, wanted: &[u8]) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(words: &[&str]) -> Launch {
        Launch {
            shown: words.join(" "),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            cwd: None,
            env: Vec::new(),
            input: None,
            output: Output::Digest,
            limit: 20.0,
            mark: format!("test-{}", std::process::id()),
            padding: 0,
            forgives: 0,
        }
    }

    fn shell(script: &str) -> Launch {
        launch(&["sh", "-c", script])
    }

    #[test]
    fn a_run_is_measured() {
        let finished = execute(&shell("printf hello; echo oops >&2; exit 3")).ok().unwrap();
        assert_eq!((finished.how().as_str(), finished.stderr.as_str()), ("exited with 3", "oops\n"));
        assert_eq!(finished.sample.output.as_ref().unwrap().length, 5);
        assert!(finished.sample.wall > 0.0 && finished.sample.user.is_some() && !finished.left_children);
        assert_eq!(execute(&shell("kill -9 $$")).ok().unwrap().how(), "was killed by signal 9");
    }

    #[test]
    fn gigabytes_of_output_are_drained() {
        let finished = execute(&shell("head -c 200000000 /dev/zero; head -c 3000000 /dev/zero >&2")).ok().unwrap();
        assert_eq!(finished.sample.output.unwrap().length, 200_000_000);
        assert_eq!(finished.stderr.len(), STDERR_TAIL);
    }

    #[test]
    fn children_do_not_outlive_a_run() {
        let finished = execute(&shell("sleep 1000 & sleep 1000 & echo $!")).ok().unwrap();
        assert!(finished.left_children && finished.sample.wall < 10.0);
    }

    #[test]
    fn what_leaves_the_group_is_found_by_its_mark() {
        let mark = format!("escape-{}", std::process::id());
        let run = Launch { mark: mark.clone(), ..shell("setsid sleep 1000 & sleep 0.3") };
        assert!(execute(&run).is_ok());
        assert_eq!(kill_marked(&mark), 1);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(kill_marked(&mark), 0);
    }

    #[test]
    fn a_limit_kills_the_whole_group() {
        let run = Launch { limit: 0.2, ..shell("yes & yes") };
        assert!(matches!(execute(&run), Err(CompareError::TimedOut { .. })));
        assert!(matches!(execute(&launch(&["/no/such/program"])), Err(CompareError::Start { .. })));
    }

    #[test]
    fn input_directory_and_environment_arrive() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("input");
        std::fs::write(&input, "12345678").unwrap();
        let run = Launch {
            input: Some(input),
            cwd: Some(folder.path().to_owned()),
            env: vec![("WORD".into(), "abc".into())],
            padding: 100,
            ..shell("cat; printf $WORD; printf ${#ROOFLAB_PADDING}; test -e input")
        };
        let finished = execute(&run).ok().unwrap();
        assert!(finished.status.success());
        assert_eq!(finished.sample.output.unwrap().length, 8 + 3 + 3);
    }
}
