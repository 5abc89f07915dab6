//! Turns rooflab on itself: does it see what is there, and nothing else, and how fast? And does its map hold against
//! other people's tools?
//!
//! Must not reach into it: everything goes through the binary and its `--json`, the door that people have.

mod fuzz;
mod itself;
mod leaks;
mod library;
mod machine;
mod peers;
mod place;
mod race;
mod rate;
mod record;
mod slow;
mod zoo_peers;

use crate::workspace::{cargo, root, run as finish};
use anyhow::{Context, Result, bail};
use model::Judgement;
use record::Record;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// One question to rooflab about rooflab.
pub struct Entry {
    name: &'static str,
    asks: &'static str,
    runs: usize,
    measure: fn(&Rig, &mut Record) -> Result<Finding>,
}

/// Adding a bench is one file and one line.
const ENTRIES: &[Entry] = &[
    itself::ENTRY,
    slow::ENTRY,
    rate::ENTRY,
    leaks::ENTRY,
    fuzz::ENTRY,
    race::ENTRY,
    zoo_peers::ENTRY,
    library::ENTRY,
    machine::ENTRY,
];

/// What a bench found.
pub struct Finding {
    /// The table's rows: what, and how much.
    pub rows: Vec<(String, String)>,
    /// Figures for programs; empty where a bench has none.
    pub milliseconds: Vec<(&'static str, f64)>,
    /// What was asked for, in words.
    pub target: String,
    /// Whether it was met.
    pub met: bool,
}

/// The binary, and how often to ask.
pub struct Rig {
    binary: PathBuf,
    runs: usize,
}

/// A judgement with the time that asking for it took.
pub struct Asked {
    /// The answer.
    pub judgement: Judgement,
    /// The whole process, by our clock.
    pub wall: Duration,
}

impl Rig {
    /// Asks for one judgement.
    ///
    /// # Errors
    /// When the environment fails: such a run says nothing about the judge.
    pub fn judge(&self, arguments: &[&str]) -> Result<Asked> {
        let begun = Instant::now();
        let mut command = Command::new(&self.binary);
        let output = command.arg("judge").args(arguments).arg("--json").current_dir(root()).output()?;
        let wall = begun.elapsed();
        if !output.status.success() {
            bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        let judgement = serde_json::from_slice(&output.stdout).context("the judgement's JSON")?;
        Ok(Asked { judgement, wall })
    }

    /// Asks the same question as often as the bench runs, and writes every answer down.
    ///
    /// # Errors
    /// As [`Self::judge`], or when the record can't be written.
    pub fn judge_over(&self, record: &mut Record, arguments: &[&str]) -> Result<Vec<Judgement>> {
        let mut judgements = Vec::with_capacity(self.runs);
        for _ in 0..self.runs {
            let asked = self.judge(arguments)?;
            record.push(&asked)?;
            judgements.push(asked.judgement);
        }
        Ok(judgements)
    }

    /// The binary.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// How often to ask.
    pub fn runs(&self) -> usize {
        self.runs
    }
}

/// Runs the entry named, or lists what there is.
///
/// # Errors
/// When the arguments make no sense, the environment fails, or a target is missed.
pub fn run(arguments: &[String]) -> Result<()> {
    let plan = Plan::parse(arguments)?;
    let Some(name) = plan.name else {
        for entry in ENTRIES {
            println!("{:17} {} ({} runs)", entry.name, entry.asks, entry.runs);
        }
        return Ok(());
    };
    let entry =
        ENTRIES.iter().find(|entry| entry.name == name).with_context(|| format!("no bench is called {name}"))?;
    // The whole workspace's selection, so that nothing is compiled again with other features.
    finish(&mut cargo(&["build", "--quiet", "--release", "--workspace", "--bins"]))?;
    let rig = Rig { binary: binary()?, runs: plan.runs.unwrap_or(entry.runs) };
    let mut record = match &plan.out {
        Some(folder) => Record::at(folder, entry.name)?,
        None => Record::today(&root().join("runs/bench"), entry.name)?,
    };
    let finding = (entry.measure)(&rig, &mut record)?;
    let folder = record.folder().to_owned();
    println!("{}", record.finish(entry.asks, &finding)?);
    println!("{}", folder.display());
    if !finding.met {
        bail!("{name} missed its target: {}", finding.target);
    }
    Ok(())
}

/// The binary in the target folder and profile that xtask itself lies in.
fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.parent().map(|folder| folder.join("rooflab")).filter(|path| path.is_file());
    path.with_context(|| format!("no rooflab beside {}", own.display()))
}

#[derive(Debug, Default, PartialEq)]
struct Plan {
    name: Option<String>,
    runs: Option<usize>,
    out: Option<PathBuf>,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut plan = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--runs" => plan.runs = Some(value()?.parse().context("--runs wants a number")?),
                "--out" => plan.out = Some(Path::new(value()?).to_owned()),
                name if !name.starts_with('-') && plan.name.is_none() => plan.name = Some(name.to_owned()),
                other => bail!("`{other}` makes no sense here"),
            }
        }
        if plan.runs == Some(0) {
            bail!("--runs wants at least 1");
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |line: &str| Plan::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let plan = parse("judge-aa --runs 20 --out x").expect("good");
        assert_eq!(plan, Plan { name: Some("judge-aa".into()), runs: Some(20), out: Some("x".into()) });
        assert_eq!(parse("").expect("good"), Plan::default());
        for bad in ["judge-aa twice", "--runs", "--runs x", "--runs 0", "--fast"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
