//! The ground of the race: the files that are timed, the programs that time them, and how long a run takes.
//!
//! Everything lies under `target/race`, and every tool is started there, so that all name the same short paths.

use super::window::{Difference, SECONDS, SEED};
use crate::workspace::{cargo, command, output, root, run as finish};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The peers' own workspace.
const MANIFEST: &str = "benches/race/Cargo.toml";

/// Rounds of A. At 5 cycles each (3 of a multiplication, 1 of a shift, 1 of an exclusive or), about 13 ms at 3 GHz.
const ROUNDS: u64 = 8_000_000;

/// Rounds of the B that does 1 % more: exactly.
const MORE_ROUNDS: u64 = ROUNDS + ROUNDS / 100;

/// What comes before the digits in an arm's file; see `benches/race/src/bin/arm.rs`.
const MARK: &[u8] = b"rounds-of-an-arm";

/// Digits after the mark.
const DIGITS: usize = 12;

/// Largest share of a run that may be the start of a process: beyond, 1 % more work is too little of 1 % more time.
const MOST_START: f64 = 0.15;

/// Runs for a quick look at how long one takes.
const LOOK: usize = 15;

/// Everything that a window needs.
pub struct Ground {
    folder: PathBuf,
    rooflab: PathBuf,
    setup: Setup,
}

/// What has to be the same for two windows to belong to one race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Of the order of turns.
    pub seed: u64,
    /// Of a window.
    pub seconds: f64,
    /// Of A, and of the B that does more.
    pub rounds: [u64; 2],
    /// Versions of the tools.
    pub tools: BTreeMap<String, String>,
}

/// How long the arms take here.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pace {
    /// Least seconds of a run of A.
    pub run_s: f64,
    /// The same without any rounds: the start of a process.
    pub start_s: f64,
}

impl Ground {
    /// Builds the programs and writes the arms.
    ///
    /// # Errors
    /// When they can't be built.
    pub fn build(rooflab: &Path) -> Result<Self> {
        let folder = root().join("target/race");
        let built = folder.join("build/release");
        let target = folder.join("build");
        let target = target.to_str().context("a target folder in UTF-8")?;
        finish(&mut cargo(&[
            "build",
            "--quiet",
            "--release",
            "--locked",
            "--manifest-path",
            MANIFEST,
            "--target-dir",
            target,
        ]))?;
        let arm = fs::read(built.join("arm"))?;
        write_arm(&arm, 0, &folder.join("none/a"))?;
        for (difference, more) in [(Difference::None, ROUNDS), (Difference::OnePercent, MORE_ROUNDS)] {
            let arms = folder.join(difference.folder());
            write_arm(&arm, ROUNDS, &arms.join("a"))?;
            write_arm(&arm, more, &arms.join("b"))?;
            for program in ["tango-a", "tango-b"] {
                fs::copy(built.join("race-tango"), arms.join(program))?;
            }
        }
        fs::copy(built.join("race-criterion"), folder.join("race-criterion"))?;
        let setup = setup(rooflab)?;
        Ok(Self { folder, rooflab: rooflab.to_owned(), setup })
    }

    /// What the race is made of.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The tool that is raced.
    pub fn rooflab(&self) -> &Path {
        &self.rooflab
    }

    /// Where a file of the ground lies.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A folder with nothing in it, for what a tool leaves behind in one window.
    pub fn empty(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join("left").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A program started on the ground.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// How long the arms take now.
    ///
    /// # Errors
    /// When too much of a run is the start of a process.
    pub fn pace(&self) -> Result<Pace> {
        // The least: a busy machine makes short runs look shorter of work than they are.
        let least = |arm: &str| Ok::<f64, anyhow::Error>(stats::robust::quantile(&self.look(arm)?, 0.0));
        let pace = Pace { run_s: least("same/a")?, start_s: least("none/a")? };
        let share = pace.start_s / pace.run_s;
        if share > MOST_START {
            bail!("{:.0} % of a run are the start of a process; give the arms more rounds", 100.0 * share);
        }
        Ok(pace)
    }

    /// Seconds of a few runs of an arm, as our own process sees them.
    ///
    /// # Errors
    /// When it can't be run.
    pub fn look(&self, arm: &str) -> Result<Vec<f64>> {
        let mut times = Vec::with_capacity(LOOK);
        for _ in 0..LOOK {
            let mut command = self.command(Path::new(arm));
            let begun = Instant::now();
            finish(command.stdout(Stdio::null()))?;
            times.push(begun.elapsed().as_secs_f64());
        }
        Ok(times)
    }
}

/// Runs a tool to its end, whatever its exit code says: some say by it that B is slower.
///
/// # Errors
/// When it can't be started or was killed.
pub fn asked(command: &mut Command) -> Result<(Output, Duration)> {
    let begun = Instant::now();
    let output = command.output().with_context(|| format!("{command:?} did not start"))?;
    let wall = begun.elapsed();
    if output.status.code().is_none() {
        bail!("{command:?} ended with {}", output.status);
    }
    Ok((output, wall))
}

fn setup(rooflab: &Path) -> Result<Setup> {
    let lock = fs::read_to_string(root().join(MANIFEST).with_file_name("Cargo.lock"))?;
    let first = |text: String| text.lines().next().unwrap_or_default().trim().to_owned();
    let tools = [
        ("rooflab", first(output(Command::new(rooflab).arg("--version"))?)),
        ("tango", format!("tango-bench {}", locked(&lock, "tango-bench")?)),
        ("criterion", format!("criterion {}", locked(&lock, "criterion")?)),
        ("hyperfine", first(output(&mut command(&["hyperfine", "--version"]))?)),
    ];
    let tools = tools.into_iter().map(|(tool, version)| (tool.to_owned(), version)).collect();
    Ok(Setup { seed: SEED, seconds: SECONDS, rounds: [ROUNDS, MORE_ROUNDS], tools })
}

/// Version of a crate in a lock file.
fn locked(lock: &str, name: &str) -> Result<String> {
    let lock: toml::Table = toml::from_str(lock).context("Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("packages in Cargo.lock")?;
    let found = packages.iter().find(|package| package.get("name").and_then(toml::Value::as_str) == Some(name));
    let version = found.and_then(|package| package.get("version")?.as_str());
    Ok(version.with_context(|| format!("no {name} in Cargo.lock"))?.to_owned())
}

fn write_arm(built: &[u8], rounds: u64, path: &Path) -> Result<()> {
    fs::create_dir_all(path.parent().context("an arm lies in a folder")?)?;
    fs::write(path, with_rounds(built, rounds)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// The built arm with another number of rounds in it, and not a byte else.
fn with_rounds(built: &[u8], rounds: u64) -> Result<Vec<u8>> {
    let digits = format!("{rounds:0DIGITS$}");
    let unset = [MARK, [b'0'; DIGITS].as_slice()].concat();
    let mut places = (0..built.len()).filter(|at| built[*at..].starts_with(&unset));
    let (Some(at), None) = (places.next(), places.next()) else {
        bail!("the built arm does not hold its mark exactly once");
    };
    let mut bytes = built.to_vec();
    bytes[at + MARK.len()..][..DIGITS].copy_from_slice(digits.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_written_and_nothing_else() {
        let built = b"\x7fELF rounds-of-an-arm000000000000 tail";
        let arm = with_rounds(built, 6_060_000).expect("one mark");
        assert_eq!(arm, b"\x7fELF rounds-of-an-arm000006060000 tail");
        assert!(with_rounds(b"no mark", 1).is_err());
        assert!(with_rounds(&[built.as_slice(), built].concat(), 1).is_err());
    }

    #[test]
    fn one_percent_is_exact() {
        assert_eq!(100 * MORE_ROUNDS, 101 * ROUNDS);
    }

    #[test]
    fn versions_come_from_the_lock() {
        let lock = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n[[package]]\nname = \"b\"\nversion = \"4.5.6\"\n";
        assert_eq!(locked(lock, "b").expect("there"), "4.5.6");
        assert!(locked(lock, "c").is_err());
    }
}
