//! Real repositories, judged by what was built and what is left of it.

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
    assert!(levels.words().contains("a build"), "{}", levels.words());
    assert!(!outcome.notes.iter().any(|note| note.contains("builds differ by nothing")), "{:?}", outcome.notes);
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

/// A repository with a submodule, which has a submodule itself; `patch` moves the first to its second commit.
fn with_submodules(folder: &Path) -> PathBuf {
    let run =
        |at: &Path, words: &[&str]| git(at, &[&["-c", "protocol.file.allow=always"][..], words].concat()).unwrap();
    let commit = |at: &Path, file: &str, text: &str| {
        std::fs::write(at.join(file), text).unwrap();
        run(at, &["add", "-A"]);
        run(at, &["commit", "--quiet", "--no-gpg-sign", "-m", file]);
    };
    let [inner, library, repo] = ["inner", "library", "repo"].map(|name| folder.join(name));
    for at in [&inner, &library, &repo] {
        std::fs::create_dir(at).unwrap();
        run(at, &["init", "--quiet"]);
    }
    commit(&inner, "deep", "deep\n");
    let add = |at: &Path, from: &Path, name: &str, path: &str| {
        run(at, &["submodule", "--quiet", "add", "--name", name, &from.to_string_lossy(), path]);
    };
    add(&library, &inner, "inner", "inner");
    commit(&library, "speed", "sleep 0.002\n");
    add(&repo, &library, "lib with a name", "vendor/lib");
    commit(&repo, "main", "base\n");
    run(&repo, &["branch", "base"]);
    commit(&library, "speed", "sleep 0.04\n");
    run(&repo.join("vendor/lib"), &["pull", "--quiet", "--no-rebase"]);
    run(&repo, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    run(&repo, &["-C", "vendor/lib", "checkout", "--quiet", "--detach", "origin/HEAD"]);
    commit(&repo, "main", "patch\n");
    run(&repo, &["branch", "patch"]);
    // No way to fetch anything any more.
    std::fs::remove_dir_all(&inner).unwrap();
    std::fs::remove_dir_all(&library).unwrap();
    repo
}

#[test]
fn submodules_are_at_each_states_own_commit_and_nothing_is_fetched() {
    for builds in [Builds::Once, Builds::EachUnit] {
        let folder = tempfile::tempdir().unwrap();
        let repo = with_submodules(folder.path());
        let configuration = std::fs::read(repo.join(".git/config")).unwrap();
        let build = Some("cat vendor/lib/speed > built && test \"$(cat vendor/lib/inner/deep)\" = deep".to_owned());
        let outcome = compare(GitPlan { build, builds, ..plan(&repo, "patch") }).unwrap();
        assert!(outcome.comparisons[0].effect.unwrap() > 1.0, "{}", outcome.markdown());
        assert!(!outcome.notes.iter().any(|note| note.contains("initialised")), "{:?}", outcome.notes);
        no_worktree_is_left(&repo);
        assert_eq!(std::fs::read(repo.join(".git/config")).unwrap(), configuration);
        assert_eq!(git(&repo, &["status", "--porcelain"]).unwrap(), "");
    }
}

#[test]
fn a_submodule_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let repo = with_submodules(folder.path());
    let clone = folder.path().join("clone");
    git(&repo, &["clone", "--quiet", ".", &clone.to_string_lossy()]).unwrap();
    git(&clone, &["branch", "base", "origin/base"]).unwrap();
    let run = "sleep 0.002".to_owned();
    let outcome = compare(GitPlan { build: None, run, ..plan(&clone, "origin/patch") }).unwrap();
    assert!(outcome.notes.iter().any(|note| note.contains("empty in both arms: vendor/lib;")), "{:?}", outcome.notes);
    // A commit that the repository's copy does not hold.
    let other = "160000,1111111111111111111111111111111111111111,vendor/lib";
    git(&repo, &["update-index", "--cacheinfo", other]).unwrap();
    git(&repo, &["commit", "--quiet", "--no-gpg-sign", "-m", "ahead"]).unwrap();
    let failure = compare(GitPlan { build: None, ..plan(&repo, "HEAD") }).unwrap_err().to_string();
    assert!(failure.contains("submodule `vendor/lib` has no commit 1111"), "{failure}");
    assert!(failure.contains("git submodule update --init"), "{failure}");
    no_worktree_is_left(&repo);
}

#[test]
fn fresh_builds_tell_the_machines_state_too() {
    let repo = repository();
    let outcome = compare(GitPlan { builds: Builds::EachUnit, ..plan(repo.path(), "patch") }).unwrap();
    assert!(outcome.environment.is_some() && outcome.notes[0].starts_with("A is "));
    assert!(outcome.notes[1].contains("builds differ by nothing"), "{:?}", outcome.notes);
}
