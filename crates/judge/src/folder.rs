//! The judge's folders in the temporary one: removed when the judge leaves, and swept by the next judge when this one was killed.
//!
//! Must not remove a folder of another user, nor one whose judge still lives: a judge holds a lock on its own.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// What a folder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// The builder's files.
    Builds,
    /// The place where a role mounts its root; empty for everybody else.
    Root,
}

impl For {
    /// What its name begins with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Builds => "rooflab-build-",
            Self::Root => "rooflab-root-",
        }
    }

    /// Never more than what such a folder can hold.
    fn remove(self, path: &Path) -> io::Result<()> {
        match self {
            Self::Builds => fs::remove_dir_all(path),
            Self::Root => fs::remove_dir(path),
        }
    }
}

/// A folder younger than this may belong to a judge that has not locked it yet.
const YOUNG: Duration = Duration::from_secs(5);

/// A temporary folder under a lock.
pub struct Folder {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Folder {
    /// Makes one, after sweeping up what killed judges of this user have left.
    ///
    /// # Errors
    /// When none can be made.
    pub fn new(what: For) -> io::Result<Self> {
        sweep(&std::env::temp_dir(), what);
        let folder = tempfile::Builder::new().prefix(what.prefix()).tempdir()?;
        let lock = open(folder.path())?;
        if !lock_now(&lock) {
            return Err(io::Error::other("a new folder is locked by another process"));
        }
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what is left behind. A folder that can't be removed is no reason to stop.
fn sweep(place: &Path, what: For) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(what.prefix()) && is_left_behind(&entry.path()) {
            let _ = what.remove(&entry.path());
        }
    }
}

fn is_left_behind(path: &Path) -> bool {
    let Ok(folder) = open(path) else { return false };
    let Ok(about) = folder.metadata() else { return false };
    // SAFETY: a plain system call.
    let ours = about.uid() == unsafe { libc::geteuid() };
    let age = about.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
    ours && age > YOUNG && lock_now(&folder)
}

/// A folder and no link to one.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

/// Takes the lock if nobody holds it. It goes with the last descriptor, so with the process at the latest.
fn lock_now(folder: &File) -> bool {
    // SAFETY: a plain system call on an open descriptor.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_what_a_dead_judge_left_is_swept() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str, old: bool| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("oracle.so"), "x").unwrap();
            let folder = open(&path).unwrap();
            if old {
                folder.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
            }
            (path, folder)
        };
        let (left, _) = make("rooflab-build-left", true);
        let (young, _) = make("rooflab-build-young", false);
        let (other, _) = make("something-else", true);
        let (held, lock) = make("rooflab-build-held", true);
        assert!(lock_now(&lock));
        let link = place.path().join("rooflab-build-link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        sweep(place.path(), For::Builds);
        let there = [&left, &young, &other, &held, &link].map(|path| path.symlink_metadata().is_ok());
        assert_eq!(there, [false, true, true, true, true]);
        drop(lock);
        sweep(place.path(), For::Builds);
        assert!(!held.exists(), "its judge is gone now");
    }

    #[test]
    fn a_living_judges_folder_is_not_swept_however_old_it_looks() {
        for what in [For::Builds, For::Root] {
            let folder = Folder::new(what).unwrap();
            let long_ago = SystemTime::now() - Duration::from_secs(3600);
            open(folder.path()).unwrap().set_modified(long_ago).unwrap();
            sweep(&std::env::temp_dir(), what);
            assert!(folder.path().is_dir(), "{what:?}");
        }
    }

    #[test]
    fn it_goes_with_its_owner() {
        for what in [For::Builds, For::Root] {
            let folder = Folder::new(what).unwrap();
            let path = folder.path().to_owned();
            assert!(path.is_dir());
            drop(folder);
            assert!(!path.exists());
        }
    }
}
