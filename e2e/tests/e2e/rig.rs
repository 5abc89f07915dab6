//! Runs the `rooflab` binary and collects what it says.
//!
//! Must not build the binary: a second cargo inside a test would compile half the workspace again with other
//! features. `cargo xtask test` builds it; by hand it is `cargo build --release --workspace --bins`.

use std::fmt;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

static MACHINE: Mutex<()> = Mutex::new(());

/// The machine, for one test at a time. A test that failed does not keep the others from it.
pub fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("e2e lies in the workspace").to_owned()
}

/// A shipped problem's folder.
pub fn problem(name: &str) -> PathBuf {
    root().join("problems").join(name)
}

/// A shipped problem with some words of its `problem.toml` changed, in a folder of its own.
///
/// # Panics
/// When a word isn't there: the problem is written otherwise by now.
pub fn variant(name: &str, changes: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (problem(name), folder.path().join(name));
    std::fs::create_dir_all(to.join("baselines")).expect("a folder");
    for file in ["oracle.c", "hints.md", "baselines/naive.c"] {
        std::fs::copy(from.join(file), to.join(file)).expect(file);
    }
    let mut manifest = std::fs::read_to_string(from.join("problem.toml")).expect("a manifest");
    for (word, other) in changes {
        assert!(manifest.contains(word), "{name} doesn't say `{word}`");
        manifest = manifest.replace(word, other);
    }
    std::fs::write(to.join("problem.toml"), manifest).expect("our own folder");
    (folder, to)
}

/// `$ROOFLAB_BIN`, or the `rooflab` beside this test's own `deps` folder: same target folder, same profile.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("ROOFLAB_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test has a path");
    let path = test.parent().and_then(Path::parent).expect("PROFILE/deps/test").join("rooflab");
    assert!(path.is_file(), "{} isn't there: build it with `cargo build --release --workspace --bins`", path.display());
    path
}

/// The binary with arguments, away from the user's own ledger.
pub fn rooflab<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).env_remove("ROOFLAB_LEDGER").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// What a command did.
pub struct Ended {
    /// The command, for messages.
    pub line: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Whether it had to be killed at its limit.
    pub overran: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ended {
    /// Fails the test, with all that the command said, unless it ended with `code`.
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "exit code of:\n{self}");
        self
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = self.status.signal().map(|s| format!(", signal {s}")).unwrap_or_default();
        let overran = if self.overran { ", killed at the test's limit" } else { "" };
        writeln!(f, "$ {}\nended {:?}{signal}{overran}", self.line, self.status.code())?;
        write!(f, "--- standard output\n{}\n--- standard error\n{}", self.out, self.err)
    }
}

/// Runs a command to its end, or kills it at `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Ended {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = format!("{command:?}");
    let mut child = spawn(command, folder.path());
    let (status, overran) = wait(&mut child, limit);
    let read =
        |name| String::from_utf8_lossy(&std::fs::read(folder.path().join(name)).unwrap_or_default()).into_owned();
    Ended { line, status, overran, out: read("stdout"), err: read("stderr") }
}

/// Starts a command with its output in files: a full pipe must never hold up something that is measured.
pub fn spawn(command: &mut Command, folder: &Path) -> Child {
    let file = |name| File::create(folder.join(name)).expect("a file in the temporary folder");
    command.stdout(file("stdout")).stderr(file("stderr"));
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits without spinning: the judge and its runner want both cores.
pub fn wait(child: &mut Child, limit: Duration) -> (ExitStatus, bool) {
    let end = Instant::now() + limit;
    let mut overran = false;
    loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            return (status, overran);
        }
        if Instant::now() > end {
            overran = true;
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Seconds, shorter.
pub fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
