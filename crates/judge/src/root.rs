//! A root of its own for every role: an empty read-only file system, with the system's files bound in read-only, its own
//! /proc, and the builder's folder as the one place to write.
//!
//! Must not allocate between clone and exec: everything is laid out before.

use crate::folder::{Folder, For};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// `mount_setattr`'s flags (linux/mount.h).
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NOSUID: u64 = 2;
const AT_RECURSIVE: u32 = 0x8000;

/// `struct mount_attr` (linux/mount.h).
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// One step of making the root.
enum Step {
    /// A folder.
    Folder(CString),
    /// An empty file, to bind on.
    File(CString),
    /// A link: what it says, and where it is.
    Link(CString, CString),
    /// Binds one on the other.
    Bind(CString, CString),
}

/// A root that is laid out but not made.
pub struct Root {
    base: CString,
    proc_folder: CString,
    steps: Vec<Step>,
    writable: Vec<Step>,
}

/// The folder that every child mounts its root on, in its own mount namespace: it stays empty for everybody else.
static BASE: OnceLock<Folder> = OnceLock::new();

impl Root {
    /// Lays out a root, with one folder to write in, and others to read beyond the system's.
    ///
    /// # Errors
    /// When there is no temporary folder, or a path holds a zero.
    pub fn plan(writable: Option<&Path>, sees: &[PathBuf]) -> io::Result<Self> {
        let base = if let Some(base) = BASE.get() {
            base
        } else {
            let made = Folder::new(For::Root)?;
            BASE.get_or_init(|| made)
        };
        let base = base.path();
        let mut root = Self {
            base: c(base)?,
            proc_folder: c(&base.join("proc"))?,
            steps: vec![Step::Folder(c(&base.join("proc"))?)],
            writable: Vec::new(),
        };
        let mut made: Vec<PathBuf> = vec![PathBuf::from("/"), PathBuf::from("/proc")];
        for path in protocol::SYSTEM.iter().chain(&["/dev/null", "/dev/urandom"]).map(Path::new) {
            let Ok(kind) = fs::symlink_metadata(path) else { continue };
            root.folders(base, path.parent().unwrap_or(Path::new("/")), &mut made)?;
            let inside = c(&inside(base, path))?;
            if kind.is_symlink() {
                root.steps.push(Step::Link(c(&fs::read_link(path)?)?, inside));
                continue;
            }
            root.steps.push(if kind.is_dir() { Step::Folder(inside.clone()) } else { Step::File(inside.clone()) });
            root.steps.push(Step::Bind(c(path)?, inside));
        }
        // What lies inside another comes with it.
        let is_inside = |path: &Path| sees.iter().any(|other| other != path && path.starts_with(other));
        let is_system = |path: &Path| protocol::SYSTEM.iter().any(|system| path.starts_with(system));
        for path in sees.iter().filter(|path| !is_inside(path) && !is_system(path)) {
            root.folders(base, path, &mut made)?;
            root.steps.push(Step::Bind(c(path)?, c(&inside(base, path))?));
        }
        if let Some(path) = writable {
            if !sees.iter().any(|other| path.starts_with(other)) {
                root.folders(base, path, &mut made)?;
            }
            root.writable.push(Step::Bind(c(path)?, c(&inside(base, path))?));
        }
        Ok(root)
    }

    /// The folders that lead to `path`, `path` included.
    fn folders(&mut self, base: &Path, path: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
        let mut whole = PathBuf::from("/");
        for part in path.components() {
            if let Component::Normal(name) = part {
                whole.push(name);
                if !made.contains(&whole) {
                    self.steps.push(Step::Folder(c(&inside(base, &whole))?));
                    made.push(whole.clone());
                }
            }
        }
        Ok(())
    }

    /// Makes it, and moves into it. The step that failed, otherwise.
    ///
    /// # Safety
    /// In a child with a mount namespace of its own, and the right to mount in it.
    pub unsafe fn enter(&self) -> Result<(), &'static std::ffi::CStr> {
        let null = std::ptr::null();
        // SAFETY: plain system calls on strings that were laid out before.
        unsafe {
            let private = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(null, c"/".as_ptr(), null, private, null.cast()), c"private mounts")?;
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            let options = c"mode=755,size=1m".as_ptr().cast();
            check(libc::mount(c"tmpfs".as_ptr(), self.base.as_ptr(), c"tmpfs".as_ptr(), flags, options), c"tmpfs")?;
            for step in &self.steps {
                step.take()?;
            }
            let flags = flags | libc::MS_NOEXEC;
            let proc = c"proc".as_ptr();
            check(libc::mount(proc, self.proc_folder.as_ptr(), proc, flags, null.cast()), c"proc")?;
            let read_only = MountAttributes {
                set: MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
                clear: 0,
                propagation: 0,
                user_namespace: 0,
            };
            let size = size_of::<MountAttributes>();
            let (base, at) = (self.base.as_ptr(), libc::AT_FDCWD);
            let set = libc::syscall(libc::SYS_mount_setattr, at, base, AT_RECURSIVE, &raw const read_only, size);
            check(set as i32, c"read-only root")?;
            for step in &self.writable {
                step.take()?;
            }
            check(libc::chdir(base), c"chdir")?;
            check(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) as i32, c"pivot_root")?;
            check(libc::umount2(c".".as_ptr(), libc::MNT_DETACH), c"the old root")?;
            check(libc::chdir(c"/".as_ptr()), c"chdir")
        }
    }
}

impl Step {
    /// # Safety
    /// As [`Root::enter`].
    unsafe fn take(&self) -> Result<(), &'static std::ffi::CStr> {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Folder(path) => check(libc::mkdir(path.as_ptr(), 0o755), c"a folder of the root"),
                Self::File(path) => {
                    let descriptor = libc::open(path.as_ptr(), libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o644);
                    check(descriptor, c"a file of the root")?;
                    check(libc::close(descriptor), c"a file of the root")
                }
                Self::Link(says, path) => check(libc::symlink(says.as_ptr(), path.as_ptr()), c"a link of the root"),
                Self::Bind(from, to) => {
                    let flags = libc::MS_BIND | libc::MS_REC;
                    let null = std::ptr::null();
                    check(libc::mount(from.as_ptr(), to.as_ptr(), null, flags, null.cast()), c"a bind mount")
                }
            }
        }
    }
}

/// Removes the folder that roots were mounted on, when the judge ends.
pub fn remove() {
    if let Some(base) = BASE.get() {
        let _ = fs::remove_dir(base.path());
    }
}

fn check(result: i32, step: &'static std::ffi::CStr) -> Result<(), &'static std::ffi::CStr> {
    if result < 0 { Err(step) } else { Ok(()) }
}

fn inside(base: &Path, path: &Path) -> PathBuf {
    base.join(path.strip_prefix("/").unwrap_or(path))
}

fn c(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
