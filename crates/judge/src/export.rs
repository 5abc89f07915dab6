//! Writes a candidate as a library and a header that any program can link.

use crate::arm;
use crate::judge::{EnvError, Judge};
use crate::runner::Code;
use crate::sandbox::SandboxError;
use model::{Arm, Digest, Source};
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Builds, vets and writes. Returns the library's digest.
///
/// # Errors
/// When the candidate does not build, or a file can't be written.
pub fn export(judge: &mut Judge, source: &Source, library: &Path, header: &Path) -> Result<Digest, EnvError> {
    let code =
        arm::resolve(judge, &Arm::Source(source.clone()))?.map_err(|verdict| EnvError::Job(verdict.to_string()))?;
    let Code::Artefact(artefact) = code else {
        return Err(EnvError::Job("only what is compiled can be exported: C, C++ and Rust".to_owned()));
    };
    let mut bytes = Vec::new();
    fs::File::open(format!("/proc/self/fd/{}", artefact.file.as_raw_fd()))
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .and_then(|_| fs::write(library, &bytes))
        .and_then(|()| fs::write(header, judge.problem.header()))
        .map_err(SandboxError::Os)?;
    Ok(artefact.digest)
}
