//! Two states of a git repository as arms: clean worktrees, built the same way, run as commands.
//!
//! The user's own working tree is never touched; the worktrees are removed at the end.

mod submodules;

use super::commands::{CommandArm, CommandRig, CommandsPlan, Shell, cleaned_up, run_groups};
use super::process::{Launch, Output, execute};
use super::watch::{Work, watched};
use crate::engine::{Group, Inside, Rig, Role, Sample, drive};
use crate::environment::Warning;
use crate::error::amended;
use crate::{CompareError, Event, Failure, Outcome, Settings, interrupt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What B is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merge {
    /// The patch's own tree.
    #[default]
    Patch,
    /// The exact state that merging the patch into the base makes.
    IntoBase,
}

/// Two revisions, how to build them, what to run.
#[derive(Clone, Debug)]
pub struct GitPlan {
    /// Any path inside the repository.
    pub repo: PathBuf,
    /// A.
    pub base: String,
    /// B.
    pub patch: String,
    /// What B is.
    pub merge: Merge,
    /// Build command, run at the top of each worktree. `{seed}`, or the variable ROOFLAB_BUILD_SEED, differs from build
    /// to build: give it to a linker that shuffles sections, so that layout is measured instead of hidden.
    pub build: Option<String>,
    /// Measured command, run at the top of each worktree.
    pub run: String,
    /// Commands that take no changed path.
    pub controls: Vec<String>,
    /// 1 builds once. More makes a fresh pair of builds the unit: the pilot then allots the runs a build.
    pub builds: Builds,
    /// How the commands run. Its first two arms, where there are any, are templates for the two states: environment,
    /// input, setup and so on; a working directory lies inside the worktree.
    pub commands: CommandsPlan,
}

/// What a unit of evidence is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Builds {
    /// Each state is built once; a pair of runs is a unit.
    #[default]
    Once,
    /// A fresh pair of builds is a unit.
    EachUnit,
}

/// A worktree that removes itself.
struct Worktree {
    repo: PathBuf,
    path: PathBuf,
}

impl Worktree {
    fn add(repo: &Path, path: PathBuf, commit: &str) -> Result<Self, CompareError> {
        let shown = path.to_string_lossy().into_owned();
        git(repo, &["worktree", "add", "--force", "--detach", &shown, commit])?;
        Ok(Self { repo: repo.to_owned(), path })
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let shown = self.path.to_string_lossy().into_owned();
        // Nothing can be done about a failure here; `git worktree prune` cleans up after the folder is gone.
        let _ = git(&self.repo, &["worktree", "remove", "--force", &shown]);
    }
}

/// Runs git without the user's hooks.
fn git(at: &Path, arguments: &[&str]) -> Result<String, CompareError> {
    let identity = ["-c", "core.hooksPath=/dev/null", "-c", "user.name=rooflab", "-c", "user.email=rooflab@localhost"];
    let mut command = Command::new("git");
    command.arg("-C").arg(at).args(identity).args(arguments).env("GIT_TERMINAL_PROMPT", "0");
    // A caller that runs inside a hook has these set, for another repository.
    for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(inherited);
    }
    let output = command.output().map_err(|cause| CompareError::Start { command: "git".to_owned(), cause })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    // A Ctrl-C reaches git as well, which then fails.
    if interrupt::asked() {
        return Err(CompareError::Interrupted);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.trim().lines().last().unwrap_or("it failed without a word").to_owned();
    Err(CompareError::Git(format!("`git {}` in {}: {last}", arguments.join(" "), at.display())))
}

fn commit_of(repo: &Path, revision: &str) -> Result<String, CompareError> {
    git(repo, &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")]).map_err(
        |_| CompareError::Usage(format!("{} has no revision `{revision}`; see `git log`, or fetch it", repo.display())),
    )
}

/// A commit that holds the merge of `patch` into `base`, made in a worktree at `base`.
fn merged(worktree: &Path, base: &str, patch: &str) -> Result<String, CompareError> {
    let merge = ["merge", "--no-ff", "--no-edit", "--no-gpg-sign", "--quiet", patch];
    if let Err(error) = git(worktree, &merge) {
        let conflicts = git(worktree, &["diff", "--name-only", "--diff-filter=U"])?;
        if conflicts.is_empty() {
            return Err(error);
        }
        let files = conflicts.lines().collect::<Vec<_>>().join(", ");
        return Err(CompareError::Git(format!(
            "{patch} does not merge into {base}: conflicts in {files}; rebase it first"
        )));
    }
    commit_of(worktree, "HEAD")
}

pub(crate) fn run(plan: &GitPlan, settings: &Settings, on: &mut dyn FnMut(&Event)) -> Result<Outcome, Failure> {
    let repo = PathBuf::from(git(&plan.repo, &["rev-parse", "--show-toplevel"])?);
    let base = commit_of(&repo, &plan.base)?;
    let folder = tempfile::tempdir().map_err(CompareError::system("cannot make a folder for the worktrees"))?;
    // Paths of the same length: a path can end up in a binary and move everything behind it.
    let a = Worktree::add(&repo, folder.path().join("a"), &base)?;
    let b = Worktree::add(&repo, folder.path().join("b"), &base)?;
    let mut patch = commit_of(&repo, &plan.patch)?;
    if plan.merge == Merge::IntoBase {
        patch = merged(&b.path, &plan.base, &patch)?;
    }
    let mut builder = Builder { plan, slots: [a, b], commits: [base, patch], seed: 0, empty: Vec::new() };
    let result = builder.compare(settings, on);
    let notes = builder.notes(&repo);
    amended(result, |outcome| outcome.notes.extend(notes))
}

impl GitPlan {
    /// All that decides how long the base's runs take and how they scatter.
    pub(crate) fn first_arm(&self) -> Result<String, CompareError> {
        let base = commit_of(&self.repo, &self.base)?;
        let how = self.commands.first_arm();
        Ok(format!("{base} {:?} {:?} {:?} {how}", self.build, self.run, self.builds))
    }
}

/// The measured command and each control: a pair of arms each.
fn groups_of(plan: &GitPlan) -> Vec<Group> {
    let role = |pair: usize| if pair == 0 { Role::Main } else { Role::Control };
    (0..=plan.controls.len()).map(|pair| Group { arms: vec![2 * pair, 2 * pair + 1], role: role(pair) }).collect()
}

struct Builder<'a> {
    plan: &'a GitPlan,
    slots: [Worktree; 2],
    commits: [String; 2],
    seed: u64,
    /// Submodules that the repository has not initialised.
    empty: Vec<String>,
}

impl Builder<'_> {
    fn compare(&mut self, settings: &Settings, on: &mut dyn FnMut(&Event)) -> Result<Outcome, Failure> {
        let commands = self.commands();
        let groups = groups_of(self.plan);
        if self.plan.builds == Builds::Once {
            for slot in 0..2 {
                on(&Event::Preparing { what: format!("building {}", self.label(slot)) });
                self.fresh(slot, slot)?;
            }
            return run_groups(&commands, &groups, settings, on);
        }
        let inner = CommandRig::new(&commands, settings)?;
        let mut rig = BuildRig { builder: self, inner };
        let result = watched(Work::Ours, commands.pin, on, |on| {
            rig.inner.set_up().map_err(Failure::from).and_then(|()| drive(&mut rig, &groups, settings, on))
        });
        cleaned_up(result, rig.inner.clean_up())
    }

    /// Arms 2g and 2g + 1 run command g in the first and the second worktree.
    fn commands(&self) -> CommandsPlan {
        let all = std::iter::once(&self.plan.run).chain(&self.plan.controls);
        let in_slot = |(pair, command): (usize, &String)| {
            [0, 1].map(|slot| {
                let what = if pair == 0 { self.label(slot) } else { format!("{}: {command}", self.label(slot)) };
                let template = self.plan.commands.arms.get(slot).cloned().unwrap_or_default();
                let inside = template.cwd.as_deref().unwrap_or(Path::new(""));
                let cwd = Some(self.slots[slot].path.join(inside));
                CommandArm { name: what, cwd, command: command.clone(), ..template }
            })
        };
        let arms = all.enumerate().flat_map(in_slot).collect();
        CommandsPlan { arms, ..self.plan.commands.clone() }
    }

    fn label(&self, slot: usize) -> String {
        match (slot, self.plan.merge) {
            (0, _) => self.plan.base.clone(),
            (_, Merge::Patch) => self.plan.patch.clone(),
            (_, Merge::IntoBase) => format!("{} merged into {}", self.plan.patch, self.plan.base),
        }
    }

    fn build(&mut self, slot: usize) -> Result<(), CompareError> {
        let Some(build) = &self.plan.build else { return Ok(()) };
        self.seed += 1;
        let command = build.replace("{seed}", &self.seed.to_string());
        let shell = match &self.plan.commands.shell {
            Shell::Named(shell) => shell.clone(),
            Shell::Auto | Shell::None => "/bin/sh".to_owned(),
        };
        let launch = Launch {
            shown: command.clone(),
            words: vec![shell, "-c".to_owned(), command],
            cwd: Some(self.slots[slot].path.clone()),
            env: vec![("ROOFLAB_BUILD_SEED".to_owned(), self.seed.to_string())],
            input: None,
            output: Output::Discard,
            limit: self.plan.commands.limit,
            mark: format!("build-{}", std::process::id()),
            padding: 0,
            forgives: 0,
        };
        let finished = execute(&launch)?;
        if finished.status.success() {
            return Ok(());
        }
        let how = format!("{} while building {}", finished.how(), self.commits[slot]);
        Err(CompareError::Failed { command: launch.shown, how, stderr: finished.stderr })
    }

    /// A slot at an arm's commit, clean, built again.
    fn fresh(&mut self, slot: usize, arm: usize) -> Result<(), CompareError> {
        let path = self.slots[slot].path.clone();
        git(&path, &["checkout", "--quiet", "--force", "--detach", &self.commits[arm % 2]])?;
        git(&path, &["clean", "-xffdq"])?;
        self.empty = submodules::check_out(&self.slots[slot].repo, &path)?;
        self.build(slot)
    }

    fn notes(&self, repo: &Path) -> Vec<String> {
        let mut notes = vec![format!("A is {}, B is {}", self.commits[0], self.commits[1])];
        if git(repo, &["status", "--porcelain"]).is_ok_and(|changed| !changed.is_empty()) {
            notes.push("uncommitted changes in the repository are not part of either arm".to_owned());
        }
        if self.plan.builds == Builds::EachUnit
            && self.plan.build.as_ref().is_some_and(|build| !build.contains("{seed}"))
        {
            let what = "the builds differ by nothing unless they use ROOFLAB_BUILD_SEED";
            notes.push(format!("{what}: give {{seed}} to a linker that shuffles, to measure the luck of a layout too"));
        }
        if !self.empty.is_empty() {
            let (paths, at) = (self.empty.join(", "), repo.display());
            let fix = format!("run `git submodule update --init --recursive` in {at} if the build needs them");
            notes.push(format!("not initialised in the repository, so empty in both arms: {paths}; {fix}"));
        }
        notes
    }
}

/// Builds both sides afresh for every unit.
struct BuildRig<'a, 'p> {
    builder: &'a mut Builder<'p>,
    inner: CommandRig<'a>,
}

impl Rig for BuildRig<'_, '_> {
    fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn open(&mut self, sides: &[usize]) -> Result<(), CompareError> {
        for (slot, arm) in sides.iter().enumerate() {
            self.builder.fresh(slot, *arm)?;
        }
        // The command of the arm, in the slot that now holds the arm's commit.
        let placed: Vec<usize> = sides.iter().enumerate().map(|(slot, arm)| arm / 2 * 2 + slot).collect();
        self.inner.open(&placed)
    }

    fn run(&mut self, side: usize) -> Result<Sample, CompareError> {
        self.inner.run(side)
    }

    fn inside(&self) -> Inside {
        Inside::LivesOn("build")
    }

    fn now(&self) -> f64 {
        self.inner.now()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.inner.warnings()
    }
}

#[cfg(test)]
mod tests;
