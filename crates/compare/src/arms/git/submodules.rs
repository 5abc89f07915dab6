//! Submodules of a worktree, from the repository's own copies: offline, and without a word in its configuration.
//!
//! `git submodule update` would write into the configuration that the user's own working tree shares.

use super::git;
use crate::CompareError;
use std::path::{Path, PathBuf};

/// A submodule that a commit names.
struct Submodule {
    path: String,
    commit: String,
}

/// Checks out every submodule of the commit that `worktree` is at, and theirs. Gives the paths of those that the
/// repository itself has not initialised: they stay empty, as in the user's own working tree.
///
/// # Errors
/// When a submodule's commit is not there.
pub(super) fn check_out(repo: &Path, worktree: &Path) -> Result<Vec<String>, CompareError> {
    let mut absent = Vec::new();
    for found in submodules(worktree)? {
        let place = worktree.join(&found.path);
        let Some(copy) = copy_of(repo, worktree, &found.path) else {
            absent.push(found.path);
            continue;
        };
        if !place.join(".git").exists() {
            // Its objects are borrowed, not copied: the worktree lives no longer than the repository.
            let (from, to) = (copy.to_string_lossy(), place.to_string_lossy());
            git(repo, &["clone", "--quiet", "--shared", "--no-checkout", &from, &to])?;
        }
        git(&place, &["checkout", "--quiet", "--force", "--detach", &found.commit]).map_err(|_| {
            CompareError::Git(format!(
                "submodule `{}` has no commit {}; run `git submodule update --init --recursive` in {} on that revision",
                found.path,
                found.commit,
                repo.display()
            ))
        })?;
        git(&place, &["clean", "-xffdq"])?;
        let nested = check_out(&copy, &place)?;
        absent.extend(nested.into_iter().map(|path| format!("{}/{path}", found.path)));
    }
    Ok(absent)
}

/// The submodules in the index, whatever `.gitmodules` says.
fn submodules(worktree: &Path) -> Result<Vec<Submodule>, CompareError> {
    // `160000 COMMIT STAGE<tab>PATH`, ended by a zero byte.
    let entries = git(worktree, &["ls-files", "--stage", "-z"])?;
    let entry = |entry: &str| {
        let (about, path) = entry.split_once('\t')?;
        let commit = about.strip_prefix("160000 ")?.split(' ').next()?;
        Some(Submodule { path: path.to_owned(), commit: commit.to_owned() })
    };
    Ok(entries.split('\0').filter_map(entry).collect())
}

/// Where the repository keeps the submodule at `path`: below its own `modules`, by name, or in its working tree.
fn copy_of(repo: &Path, worktree: &Path, path: &str) -> Option<PathBuf> {
    let common = git(repo, &["rev-parse", "--path-format=absolute", "--git-common-dir"]).ok()?;
    let name = name_of(worktree, path).unwrap_or_else(|| path.to_owned());
    let kept = Path::new(&common).join("modules").join(name);
    let embedded = repo.join(path);
    [kept.join("HEAD").exists().then_some(kept), embedded.join(".git").exists().then_some(embedded)]
        .into_iter()
        .flatten()
        .next()
}

/// `.gitmodules` may name a submodule otherwise than by its path.
fn name_of(worktree: &Path, path: &str) -> Option<String> {
    let paths = ["config", "--file", ".gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$"];
    git(worktree, &paths).ok()?.split('\0').find_map(|entry| {
        let (key, value) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        (value == path).then(|| name.to_owned())
    })
}
