//! Prebuilt libraries as arms: found, looked at, and refused with what to do about it.
//!
//! Must not load one: a runner does, in its sandbox.

use crate::outcome::Failure;
use crate::plan;
use crate::session::baseline_names;
use judge::library;
use model::{Arm, Digest, Job, Library};
use problems::Problem;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Ends of names that say what was meant, whatever the file holds.
const ENDS: [&str; 5] = [".so", ".o", ".a", ".dylib", ".dll"];

/// What one side is: a prebuilt library, or what every verb takes.
///
/// # Errors
/// When it can't be an arm, with what to do about it.
pub fn arm(text: &str, problem: &Problem) -> Result<Arm, Failure> {
    let path = Path::new(text);
    if path.is_file() && is_library(path) {
        return prebuilt(path, problem).map(Arm::Library);
    }
    plan::arm(text, &baseline_names(problem), &[])
}

/// By its name, `libx.so.1.2` included, or by its first bytes.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    ENDS.iter().any(|end| name.ends_with(end)) || name.contains(".so.") || begins_as_elf(path)
}

fn begins_as_elf(path: &Path) -> bool {
    let mut beginning = [0; library::MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == library::MAGIC
}

fn prebuilt(path: &Path, problem: &Problem) -> Result<Library, Failure> {
    let unread = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()), "name a library");
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(library::LARGEST + 1).read_to_end(&mut bytes)).map_err(unread)?;
    if bytes.len() as u64 > library::LARGEST {
        let what = format!("{} has more than {} MiB", path.display(), library::LARGEST >> 20);
        return Err(Failure::usage(what, "strip its debug information"));
    }
    library::exports(&bytes, problem)
        .map_err(|unfit| Failure::usage(format!("{}: {unfit}", path.display()), unfit.fix()))?;
    Ok(Library { path: path.to_owned(), digest: Digest::of(&bytes) })
}

/// What libraries have to do, for a job that has any.
pub fn help(job: &Job, problem: &Problem) -> Option<String> {
    let has_library = [&job.against, &job.candidate].iter().any(|arm| matches!(arm, Arm::Library(_)));
    let prototype = problem.prototype(&problem.entry);
    has_library.then(|| {
        format!(
            "both arms have to answer as the problem's oracle does, through `{}`; a library is loaded with the system's \
             libraries alone, and makes no system call in a call: no threads, no files, little memory of its own",
            prototype.trim_end_matches(';')
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_name_or_content() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, content: &[u8], expected: bool| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            assert_eq!(is_library(&path), expected, "{name}");
        };
        check("a.so", b"", true);
        check("liba.so.1.2", b"text", true);
        check("a.o", b"", true);
        check("a.dylib", b"", true);
        check("plain", b"\x7fELF and more", true);
        check("a.c", b"int x;", false);
        check("a.json", b"{}", false);
        check("short", b"\x7fEL", false);
    }

    #[test]
    fn what_is_no_library_is_told_with_its_fix() {
        let folder = tempfile::tempdir().unwrap();
        let problem = Problem::load(&problems::create(folder.path(), "sample").unwrap()).unwrap();
        let path = folder.path().join("a.so");
        std::fs::write(&path, "INPUT(liba.so.1)").unwrap();
        let Err(Failure::Usage(report)) = arm(path.to_str().unwrap(), &problem) else { panic!() };
        let shown = format!("{report:?}");
        assert!(shown.contains("a.so") && shown.contains("but a text") && shown.contains("-shared -fPIC"), "{shown}");
        let known = arm("naive", &problem);
        assert!(matches!(known, Ok(Arm::Baseline(_))), "{known:?}");
    }
}
