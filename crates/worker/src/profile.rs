//! macOS: a policy as the text of a sandbox profile, and how a role puts it on.
//!
//! Weaker than Linux's sandbox: no namespaces, no root of its own, and no filter of system calls, so nothing like the
//! runner's seal. Only the builder lives in it. Must not fall back: what a profile can't say is an error.

use crate::policy::{Missing, NULL, Policy, RANDOM, missing};
use std::fmt::Write;
use std::path::Path;

/// What every program needs to start: its own processes, the kernel's figures, names of files.
const HEAD: &str = "\
(version 1)
(deny default)
(deny network*)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
";

/// The profile of a policy, in the language of `sandbox-exec`: what isn't allowed is denied.
///
/// # Errors
/// When a path can't be written in it: then nothing may be started.
pub fn text(policy: &Policy<'_>) -> Result<String, Missing> {
    let mut text = HEAD.to_owned();
    for path in &policy.reads {
        let path = quoted(path)?;
        let _ = writeln!(text, "(allow file-read* process-exec (subpath {path}))");
    }
    let _ = writeln!(text, "(allow file-read* file-write-data (literal \"{NULL}\"))");
    let _ = writeln!(text, "(allow file-read* (literal \"{RANDOM}\"))");
    if let Some(folder) = policy.writes {
        let folder = quoted(folder)?;
        let _ = writeln!(text, "(allow file-read* file-write* process-exec (subpath {folder}))");
    }
    Ok(text)
}

/// As a string of the profile's language. Quotes and what could end one are refused rather than escaped: the language has
/// no description to go by.
fn quoted(path: &Path) -> Result<String, Missing> {
    let refused = |why: &str| missing("sandbox profile", format!("{}: {why}", path.display()));
    let text = path.to_str().ok_or_else(|| refused("a path that is no text"))?;
    if !path.is_absolute() {
        return Err(refused("a path that isn't absolute"));
    }
    if text.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return Err(refused("a path with a quote, a backslash or a control character"));
    }
    Ok(format!("\"{text}\""))
}

/// Puts the policy on this process and all that it will start. There is no way back.
///
/// # Errors
/// When the profile can't be written, or the system refuses it.
#[cfg(target_os = "macos")]
pub fn enter(policy: &Policy<'_>) -> Result<(), Missing> {
    use std::ffi::{CStr, CString, c_char, c_int};
    unsafe extern "C" {
        // libSystem's, what `sandbox-exec` itself calls; deprecated since 10.7, and there in every version.
        fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
        fn sandbox_free_error(error: *mut c_char);
    }
    let text = CString::new(text(policy)?).map_err(|error| missing("sandbox profile", error))?;
    let mut error = std::ptr::null_mut();
    // SAFETY: a text that ends in a zero, and a place for a message that is the library's to free.
    unsafe {
        if sandbox_init(text.as_ptr(), 0, &raw mut error) == 0 {
            return Ok(());
        }
        let why = if error.is_null() {
            "no reason given".to_owned()
        } else {
            let why = CStr::from_ptr(error).to_string_lossy().into_owned();
            sandbox_free_error(error);
            why
        };
        Err(missing("sandbox_init", why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn policy<'a>(reads: &[&str], writes: Option<&'a str>) -> Policy<'a> {
        Policy { reads: reads.iter().map(PathBuf::from).collect(), writes: writes.map(Path::new) }
    }

    #[test]
    fn a_builders_profile() {
        let expected = "\
(version 1)
(deny default)
(deny network*)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* process-exec (subpath \"/usr\"))
(allow file-read* process-exec (subpath \"/Library/Developer\"))
(allow file-read* file-write-data (literal \"/dev/null\"))
(allow file-read* (literal \"/dev/urandom\"))
(allow file-read* file-write* process-exec (subpath \"/private/tmp/unit-1\"))
";
        let policy = policy(&["/usr", "/Library/Developer"], Some("/private/tmp/unit-1"));
        assert_eq!(text(&policy).unwrap(), expected);
    }

    #[test]
    fn nothing_is_writable_that_nobody_named() {
        let text = text(&policy(&["/usr"], None)).unwrap();
        assert!(!text.contains("file-write*") && text.contains("(deny default)\n(deny network*)"), "{text}");
    }

    #[test]
    fn a_path_that_could_end_its_string_is_refused() {
        let check = |path: &str, why: &str| {
            for policy in [policy(&[path], None), policy(&[], Some(path))] {
                let Missing(said) = text(&policy).unwrap_err();
                assert!(said.starts_with("sandbox profile: ") && said.ends_with(why), "{said}");
            }
        };
        check("/tmp/a\") (allow default) (\"", "control character");
        check("/tmp/a\\", "control character");
        check("/tmp/a\nb", "control character");
        check("tmp", "isn't absolute");
    }

    /// The policy that the Linux builder turns into Landlock's rules.
    #[test]
    fn the_same_policy_as_linux() {
        let policy = Policy::new(Some(Path::new("/tmp")), &[PathBuf::from("/nonexistent")]);
        let text = text(&policy).unwrap();
        assert!(text.contains("(allow file-read* process-exec (subpath \"/usr\"))"), "{text}");
        assert!(!text.contains("/nonexistent") && text.ends_with("process-exec (subpath \"/tmp\"))\n"), "{text}");
    }
}
