//! Memory that two processes map: anonymous files, never a name that anybody could open.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

/// A shared mapping and the descriptor behind it.
pub struct Memory {
    file: File,
    at: *mut u8,
    bytes: usize,
}

impl Memory {
    /// `bytes` of zeroed memory, rounded up to whole pages.
    ///
    /// # Errors
    /// When the kernel has no more memory or descriptors.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(4096);
        let file = anonymous("rooflab")?;
        file.set_len(bytes as u64)?;
        // SAFETY: a fresh mapping of a file that is at least that long.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file, at: at.cast(), bytes })
    }

    /// Length in bytes, whole pages.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The descriptor, for a process to be started.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Where it lies in this process.
    pub fn pointer(&self) -> *mut u8 {
        self.at
    }

    /// A part of it, to read or write while the runner is stopped.
    #[expect(
        clippy::mut_from_ref,
        reason = "the memory is shared with another process anyway; callers hold one part at a time"
    )]
    pub fn part(&self, offset: usize, bytes: usize) -> &mut [u8] {
        assert!(offset + bytes <= self.bytes, "a part of shared memory lies outside it");
        // SAFETY: inside the mapping, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(offset), bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.at.cast(), self.bytes) };
    }
}

/// A file without a name that holds `content` and can't change any more: what was vetted is what is loaded.
///
/// # Errors
/// When the kernel refuses the file or the seals.
pub fn sealed(content: &[u8]) -> io::Result<File> {
    let mut file = anonymous("artefact")?;
    file.write_all(content)?;
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    // SAFETY: a plain system call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

fn anonymous(name: &str) -> io::Result<File> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: a plain system call; the descriptor is ours from here on.
    unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from_raw_fd(descriptor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn sealed_content_stays() {
        let mut file = sealed(b"vetted").unwrap();
        assert!(file.write_all(b"changed").is_err());
        assert!(file.set_len(0).is_err());
    }

    #[test]
    fn parts_are_the_same_memory() {
        let memory = Memory::new(10_000).unwrap();
        memory.part(4_096, 4)[2] = 7;
        assert_eq!(memory.part(4_098, 1), [7]);
        assert_eq!(memory.len(), 12_288);
    }
}
