//! The day's noise: sigma of identical arms, kept from session to session in the user's cache.
//!
//! A file a machine and first arm, written whole or not at all. What cannot be read, is too old or was measured elsewhere
//! is as good as absent, and says why. No verdict depends on it.

use crate::environment::machine;
use crate::error::amended;
use crate::{CompareError, DaysNoise, Event, Failure, Outcome, Plan, SigmaOf, markdown};
use serde::{Deserialize, Serialize};
use stats::Noise;
use std::hash::Hasher;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Marks our own files.
const SCHEMA: &str = "noise/1";
/// Noise is the day's for so long: neighbours, heat and daemons change with the hour, kernels with the day.
const LIVES: Duration = Duration::from_secs(24 * 3600);
/// Kept files are removed after this long, so that the cache stays small.
const REMOVED_AFTER: Duration = Duration::from_secs(14 * 24 * 3600);
/// Fewer units do not make a sigma that is worth keeping.
const LEAST_KEPT: usize = 10;
/// A clock may be set back by so much before a file is said to come from the future.
const CLOCK_SLACK: f64 = 60.0;

/// Where sigma may come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseUse {
    /// Measured in every session.
    #[default]
    Session,
    /// The day's, if one is kept for this machine and first arm.
    Day,
}

/// A folder of noises.
#[derive(Clone, Debug)]
pub struct NoiseStore {
    folder: PathBuf,
}

/// Whose noise it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Processor, cores, kernel, host.
    machine: String,
    /// Digest of all that the first arm is: commands, environment, folder, how it is timed.
    arm: u64,
}

impl Key {
    /// From a description of the first arm. It is kept as a digest alone: an environment can hold secrets.
    pub(crate) fn new(machine: String, arm: &str) -> Self {
        let arm = digest(arm);
        Self { machine, arm }
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    rooflab: String,
    machine: String,
    arm: String,
    sigma: f64,
    pairs: usize,
    /// Seconds since 1970.
    at: f64,
}

fn digest(text: &str) -> u64 {
    // SipHash with fixed keys: the same in every process.
    #[expect(deprecated, reason = "DefaultHasher promises no fixed keys; SipHasher::new does")]
    let mut hasher = std::hash::SipHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

impl NoiseStore {
    /// Below `$XDG_CACHE_HOME`, or `~/.cache`. None where neither is known.
    pub fn of_user() -> Option<Self> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Self::at(cache.join("rooflab").join("noise")))
    }

    /// In this folder, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{:016x}-{:016x}.json", digest(&key.machine), key.arm))
    }

    /// The noise kept for `key`; as an error, why a file that is there does not count.
    fn find(&self, key: &Key, now: SystemTime) -> Result<Option<DaysNoise>, String> {
        let path = self.path(key);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be read ({error})", path.display())),
        };
        let kept: Kept =
            serde_json::from_str(&text).map_err(|error| format!("{} is damaged ({error})", path.display()))?;
        let age = seconds(now) - kept.at;
        let sound = kept.sigma > 0.0 && kept.sigma.is_finite() && kept.pairs >= LEAST_KEPT && age.is_finite();
        if kept.rooflab != SCHEMA || !sound {
            return Err(format!("{} is damaged (schema `{}`, sigma {})", path.display(), kept.rooflab, kept.sigma));
        }
        if kept.machine != key.machine || kept.arm != format!("{:016x}", key.arm) {
            return Err(format!("{} belongs to another machine or command", path.display()));
        }
        if age < -CLOCK_SLACK {
            return Err(format!("the noise kept for A is from the future ({} ahead)", markdown::age(-age)));
        }
        if age > LIVES.as_secs_f64() {
            return Err(format!("the noise kept for A is {} old, more than a day", markdown::age(age)));
        }
        Ok(Some(DaysNoise { noise: Noise { sigma: kept.sigma, n: kept.pairs }, age: age.max(0.0) }))
    }

    /// Writes beside and renames, so that nobody ever reads half a file.
    fn keep(&self, key: &Key, noise: Noise, now: SystemTime) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        self.remove_old(now);
        let kept = Kept {
            rooflab: SCHEMA.to_owned(),
            machine: key.machine.clone(),
            arm: format!("{:016x}", key.arm),
            sigma: noise.sigma,
            pairs: noise.n,
            at: seconds(now),
        };
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(serde_json::to_string_pretty(&kept)?.as_bytes())?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    /// What cannot be removed does no harm.
    fn remove_old(&self, now: SystemTime) {
        let is_old = |path: &Path| {
            let written = std::fs::metadata(path).and_then(|found| found.modified());
            written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > REMOVED_AFTER))
        };
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if is_old(&entry.path()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// As [`crate::run`], with sigma from the store where that is asked for, and kept there for the rest of the day.
///
/// # Errors
/// As [`crate::run`]. A store that fails is a note, not an error.
pub fn run_with_noise(
    plan: &Plan,
    store: &NoiseStore,
    from: NoiseUse,
    on: &mut dyn FnMut(&Event),
) -> Result<Outcome, Failure> {
    let Some(arm) = plan.first_arm()? else { return crate::run(plan, on) };
    let key = Key::new(machine(Path::new("/")), &arm);
    let mut plan = plan.clone();
    let mut notes = Vec::new();
    if from == NoiseUse::Day {
        match store.find(&key, SystemTime::now()) {
            Ok(Some(found)) => plan.settings.noise = Some(found),
            Ok(None) => notes.push("no noise of A is kept from today, so it was measured".to_owned()),
            Err(why) => notes.push(format!("{why}, so the noise was measured")),
        }
    }
    let result = crate::run(&plan, on);
    if let Some(noise) = result.as_ref().ok().and_then(worth_keeping)
        && let Err(error) = store.keep(&key, noise, SystemTime::now())
    {
        notes.push(format!("the noise could not be kept in {} ({error})", store.folder.display()));
    }
    amended(result, |outcome| outcome.notes.extend(notes))
}

/// The sigma that this session measured, unless the session is void.
fn worth_keeping(outcome: &Outcome) -> Option<Noise> {
    let Some(SigmaOf::Session { pairs }) = outcome.sigma_of else { return None };
    let sigma = outcome.sigma.filter(|sigma| *sigma > 0.0 && sigma.is_finite())?;
    (pairs >= LEAST_KEPT && outcome.discarded.is_none()).then_some(Noise { sigma, n: pairs })
}

impl Plan {
    /// All that decides the noise of its first arm, in words; None for samples, which somebody else took.
    fn first_arm(&self) -> Result<Option<String>, CompareError> {
        let how = match &self.target {
            crate::Target::Commands(commands) => commands.first_arm(),
            crate::Target::Git(git) => git.first_arm()?,
            crate::Target::Sql(sql) => sql.first_arm(),
            crate::Target::Samples { .. } => return Ok(None),
        };
        Ok(Some(format!("{:?} {how}", self.settings.metric)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::commands::{CommandArm, CommandsPlan};
    use crate::{Pairs, Settings, Target};

    const NOISE: Noise = Noise { sigma: 0.012, n: 20 };

    fn key() -> Key {
        Key::new("a machine".into(), "sleep 1")
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    fn kept() -> (tempfile::TempDir, NoiseStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = NoiseStore::at(folder.path().join("new").join("noise"));
        store.keep(&key(), NOISE, at(0)).unwrap();
        (folder, store)
    }

    #[test]
    fn the_days_noise_is_found_again_and_only_by_its_own() {
        let (_folder, store) = kept();
        assert_eq!(store.find(&key(), at(7200)), Ok(Some(DaysNoise { noise: NOISE, age: 7200.0 })));
        assert_eq!(store.find(&Key::new("another".into(), "sleep 1"), at(1)), Ok(None));
        assert_eq!(store.find(&Key::new("a machine".into(), "sleep 2"), at(1)), Ok(None));
        // One file, and nothing half written beside it.
        assert_eq!(std::fs::read_dir(&store.folder).unwrap().count(), 1);
        assert!(!std::fs::read_to_string(store.path(&key())).unwrap().contains("sleep"), "commands can hold secrets");
    }

    #[test]
    fn what_does_not_count_says_why() {
        let (_folder, store) = kept();
        let check = |now: SystemTime, expected: &str| {
            let why = store.find(&key(), now).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check(at(90_000), "25 h old, more than a day");
        check(UNIX_EPOCH, "from the future");
        let text = std::fs::read_to_string(store.path(&key())).unwrap();
        let damage = |bad: &str, expected: &str| {
            std::fs::write(store.path(&key()), bad).unwrap();
            check(at(1), expected);
        };
        damage(&text[..text.len() / 2], "is damaged (EOF");
        damage("", "is damaged");
        damage(&text.replace("0.012", "-1.0"), "is damaged (schema `noise/1`, sigma -1)");
        damage(&text.replace("noise/1", "noise/9"), "schema `noise/9`");
        damage(&text.replace("a machine", "an older kernel"), "another machine");
        std::fs::remove_file(store.path(&key())).unwrap();
        std::fs::create_dir(store.path(&key())).unwrap();
        check(at(1), "cannot be read");
    }

    #[test]
    fn the_cache_stays_small() {
        let (_folder, store) = kept();
        let other = Key::new("a machine".into(), "sleep 2");
        let later = SystemTime::now() + Duration::from_secs(15 * 24 * 3600);
        store.keep(&other, NOISE, later).unwrap();
        assert!(!store.path(&key()).exists() && store.path(&other).exists());
    }

    fn plan(command: &str) -> Plan {
        let arms = ["sleep 0.002", command].map(CommandArm::new).to_vec();
        let settings = Settings { budget: 20.0, pairs: Pairs::Anytime { max: 4 }, ..Settings::default() };
        Plan { target: Target::Commands(CommandsPlan::new(arms)), settings }
    }

    #[test]
    fn a_second_session_takes_the_firsts_noise() {
        let folder = tempfile::tempdir().unwrap();
        let store = NoiseStore::at(folder.path());
        let run = |command: &str, from: NoiseUse| run_with_noise(&plan(command), &store, from, &mut |_| ());
        let first = run("sleep 0.003", NoiseUse::Day).unwrap();
        assert!(first.notes.iter().any(|note| note.contains("no noise of A is kept")), "{:?}", first.notes);
        assert_eq!(first.sigma_of, Some(SigmaOf::Session { pairs: first.noise.len() }));
        // A session that a busy machine voided keeps nothing.
        if first.discarded.is_none() {
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        let key = Key::new(machine(Path::new("/")), &plan("x").first_arm().unwrap().unwrap());
        store.keep(&key, Noise { sigma: first.sigma.unwrap(), n: 20 }, SystemTime::now()).unwrap();
        // Another B has the same A. Whether the noise still fits is the machine's affair; either way it is said.
        let second = run("sleep 0.004", NoiseUse::Day).unwrap();
        let afresh = second.notes.iter().any(|note| note.contains("does not fit"));
        assert_eq!(matches!(second.sigma_of, Some(SigmaOf::Day { .. })), !afresh, "{:?}", second.notes);
        assert_eq!(second.noise.len() == 5, !afresh);
        let third = run("sleep 0.004", NoiseUse::Session).unwrap();
        assert!(matches!(third.sigma_of, Some(SigmaOf::Session { .. })) && third.notes.is_empty());
    }

    #[test]
    fn a_store_that_cannot_be_written_is_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("file");
        std::fs::write(&blocked, "").unwrap();
        let store = NoiseStore::at(blocked.join("noise"));
        let outcome = run_with_noise(&plan("sleep 0.002"), &store, NoiseUse::Session, &mut |_| ()).unwrap();
        let told = outcome.notes.iter().any(|note| note.contains("could not be kept"));
        assert!(told || outcome.discarded.is_some(), "{:?}", outcome.notes);
    }
}
