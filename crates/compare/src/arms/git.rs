//! Two states of a git repository as arms: clean worktrees, built the same way, run as commands.
//!
//! The user's own working tree is never touched; the worktrees are removed at the end.

use super::commands::{CommandArm, CommandRig, CommandsPlan, Shell, run_groups};
use super::process::{Launch, Output, execute};
use crate::engine::{Group, Inside, Rig, Role, Sample, drive};
use crate::environment::Warning;
use crate::{CompareError, Event, Failure, Outcome, Settings};
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
    /// Build command, run at the top of each worktree. `{seed}` differs from build to build: give it to a linker that
    /// shuffles sections, so that layout is measured instead of hidden.
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
    git(&b.path, &["checkout", "--quiet", "--force", "--detach", &patch])?;
    let mut builder = Builder { plan, slots: [a, b], commits: [base, patch], seed: 0 };
    let commands = builder.commands();
    let groups = groups_of(plan);
    let result = match plan.builds {
        Builds::Once => {
            for slot in 0..2 {
                on(&Event::Preparing { what: format!("building {}", builder.label(slot)) });
                builder.build(slot)?;
            }
            run_groups(&commands, &groups, settings, on)
        }
        Builds::EachUnit => {
            let inner = CommandRig::new(&commands, settings.seed)?;
            let mut rig = BuildRig { builder: &mut builder, inner };
            let ready = rig.inner.set_up().map_err(Failure::from);
            let result = ready.and_then(|()| drive(&mut rig, &groups, settings, on));
            let cleaned = rig.inner.clean_up();
            result.and_then(|outcome| match cleaned {
                Ok(()) => Ok(outcome),
                Err(error) => Err(Failure { error, kept: Some(Box::new(outcome)) }),
            })
        }
    };
    let notes = builder.notes(&repo);
    result
        .map(|outcome| Outcome { notes: notes.clone(), ..outcome })
        .map_err(|failure| Failure { kept: failure.kept.map(|kept| Box::new(Outcome { notes, ..*kept })), ..failure })
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
}

impl Builder<'_> {
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
            env: Vec::new(),
            input: None,
            output: Output::Discard,
            limit: self.plan.commands.limit,
            mark: format!("build-{}", std::process::id()),
            padding: 0,
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
        self.build(slot)
    }

    fn notes(&self, repo: &Path) -> Vec<String> {
        let mut notes = vec![format!("A is {}, B is {}", self.commits[0], self.commits[1])];
        if git(repo, &["status", "--porcelain"]).is_ok_and(|changed| !changed.is_empty()) {
            notes.push("uncommitted changes in the repository are not part of either arm".to_owned());
        }
        if self.slots[0].path.join(".gitmodules").exists() {
            notes.push("submodules are not checked out; let the build command fetch them".to_owned());
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
mod tests {
    use super::*;
    use crate::{Pairs, Plan, Target};

    /// A repository whose `work` script sleeps: `base`, a slower `patch`, a `conflict`, and `other` which can be merged.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let commit = |file: &str, text: &str, branch: &str| {
            std::fs::write(folder.path().join(file), format!("{text}\n")).unwrap();
            git(folder.path(), &["add", "-A"]).unwrap();
            git(folder.path(), &["commit", "--quiet", "--no-gpg-sign", "-m", file]).unwrap();
            git(folder.path(), &["branch", "--force", branch]).unwrap();
        };
        git(folder.path(), &["init", "--quiet"]).unwrap();
        commit("work", "sleep 0.003", "root");
        commit("work", "sleep 0.002", "base");
        git(folder.path(), &["checkout", "--quiet", "--detach", "root"]).unwrap();
        commit("work", "sleep 0.03", "conflict");
        git(folder.path(), &["checkout", "--quiet", "--detach", "root"]).unwrap();
        commit("extra", "sleep 0.03", "other");
        git(folder.path(), &["checkout", "--quiet", "--detach", "base"]).unwrap();
        commit("extra", "sleep 0.04", "patch");
        folder
    }

    fn plan(repo: &Path, patch: &str) -> GitPlan {
        GitPlan {
            repo: repo.to_owned(),
            base: "base".into(),
            patch: patch.into(),
            merge: Merge::Patch,
            build: Some("cat work extra > built 2>/dev/null; test -s built".into()),
            run: "sh built".into(),
            controls: Vec::new(),
            builds: Builds::Once,
            commands: CommandsPlan::new(Vec::new()),
        }
    }

    fn compare(plan: GitPlan) -> Result<Outcome, Failure> {
        let settings = Settings { budget: 8.0, pairs: Pairs::Anytime { max: 14 }, ..Settings::default() };
        crate::run(&Plan { target: Target::Git(plan), settings }, &mut |_| ())
    }

    fn no_worktree_is_left(repo: &Path) {
        assert_eq!(git(repo, &["worktree", "list"]).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_slower_patch_is_worse_and_its_control_is_not() {
        let repo = repository();
        let outcome = compare(GitPlan { controls: vec!["sleep 0.002".into()], ..plan(repo.path(), "patch") }).unwrap();
        assert_eq!(outcome.comparisons[0].verdict, outcome.verdict);
        assert!(outcome.comparisons[0].effect.unwrap() > 1.0, "{}", outcome.markdown());
        assert!(outcome.comparisons[1].is_control && outcome.comparisons[1].arm.contains("sleep"));
        no_worktree_is_left(repo.path());
    }

    #[test]
    fn a_merge_is_built_as_it_would_be() {
        let repo = repository();
        let outcome = compare(GitPlan { merge: Merge::IntoBase, ..plan(repo.path(), "other") }).unwrap();
        assert_eq!(outcome.arms[1].name, "other merged into base");
        assert!(outcome.comparisons[0].effect.unwrap() > 1.0, "{}", outcome.markdown());
        let failure = compare(GitPlan { merge: Merge::IntoBase, ..plan(repo.path(), "conflict") }).unwrap_err();
        assert!(failure.to_string().contains("conflicts in work; rebase it"), "{failure}");
        no_worktree_is_left(repo.path());
    }

    #[test]
    fn templates_reach_both_states_however_they_are_built() {
        for builds in [Builds::Once, Builds::EachUnit] {
            let repo = repository();
            let log = repo.path().join("log");
            let arm = |name: &str| CommandArm {
                setup: Some("echo setup >> $LOG".into()),
                cleanup: Some("echo cleanup >> $LOG".into()),
                env: vec![("ARM".into(), name.into()), ("LOG".into(), log.to_string_lossy().into_owned())],
                ..CommandArm::default()
            };
            let commands = CommandsPlan::new(vec![arm("a"), arm("b")]);
            let run = "echo $ARM $(basename $PWD) >> $LOG".into();
            compare(GitPlan { run, builds, commands, ..plan(repo.path(), "patch") }).unwrap();
            let text = std::fs::read_to_string(&log).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            assert!(lines.starts_with(&["setup", "setup"]) && lines.ends_with(&["cleanup", "cleanup"]), "{text}");
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines, ["a a", "b b", "cleanup", "setup"]);
        }
    }

    #[test]
    fn a_build_pair_can_be_the_unit() {
        let repo = repository();
        let build = Some("cat work extra > built 2>/dev/null; echo '# {seed}' >> built".to_owned());
        let outcome = compare(GitPlan { builds: Builds::EachUnit, build, ..plan(repo.path(), "patch") }).unwrap();
        let levels = outcome.levels.as_ref().unwrap();
        assert_eq!(levels.names, ["build", "run"]);
        assert_eq!(outcome.arms[1].samples.len(), outcome.pairs * levels.used);
        no_worktree_is_left(repo.path());
    }

    #[test]
    fn errors_name_the_revision_and_the_build() {
        let repo = repository();
        let check = |plan: GitPlan, expected: &str| {
            let failure = compare(plan).unwrap_err();
            assert!(failure.to_string().contains(expected), "{failure}");
            no_worktree_is_left(repo.path());
        };
        check(plan(repo.path(), "nowhere"), "no revision `nowhere`");
        check(GitPlan { build: Some("echo bad >&2; exit 2".into()), ..plan(repo.path(), "patch") }, "while building");
        let empty = tempfile::tempdir().unwrap();
        assert!(compare(plan(empty.path(), "patch")).is_err());
    }
}
