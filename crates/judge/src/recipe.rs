//! How one translation unit becomes a library: the program, its arguments, and what it has to see beyond the system.
//!
//! Must not run a compiler on a candidate: the builder role does, in its sandbox. Asking rustc where it lives is the
//! user's own program, run as the user.

use crate::builder::BASE_FLAGS;
use model::{Language, Rule, Source, Verdict};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What every Rust candidate is built with. No start files: they bring code that runs at load. The standard library is
/// not there, so that a panic can only trap.
const RUST_FLAGS: [&str; 16] = [
    "--crate-name=unit",
    "--crate-type=cdylib",
    "--edition=2021",
    "--cap-lints=allow",
    "--color=never",
    "-Copt-level=3",
    "-Ctarget-cpu=native",
    "-Cpanic=abort",
    "-Ccodegen-units=1",
    "-Clinker=cc",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-Wl,-z,noexecstack",
    "-Clink-arg=-Wl,-z,defs",
    "-Clink-arg=-Wl,-z,relro,-z,now",
    "-Clink-arg=-lm",
    "-Clink-arg=-lc",
];
/// Flags that a Rust candidate may add, exactly or by `prefix*`: none reads or writes a file, or loads anything.
const RUST_ALLOWED: [&str; 8] = [
    "-Copt-level=2",
    "-Copt-level=3",
    "-Copt-level=s",
    "-Cno-vectorize-loops",
    "-Cno-vectorize-slp",
    "-Coverflow-checks=*",
    "-Cllvm-args=-align-all-functions=*",
    "-Cllvm-args=-align-loops=*",
];

/// The Rust compiler of this machine.
pub struct Rustc {
    /// The compiler itself, no wrapper of rustup's: that would want its own home.
    program: PathBuf,
    /// Compiler, its libraries, and `core` as it was compiled.
    sysroot: PathBuf,
}

/// One way to compile.
pub struct Recipe {
    /// The compiler.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What the translation unit's file is called.
    pub unit: &'static str,
    /// Folders that the compiler reads beyond the system's.
    pub sees: Vec<PathBuf>,
}

impl Rustc {
    /// Asks the `rustc` on the path where it really is.
    ///
    /// # Errors
    /// When there is none; the message says what to do.
    pub fn find() -> io::Result<Self> {
        let missing = |why: String| {
            let what = format!(
                "this is a Rust candidate and there is no Rust compiler ({why}): install rustc, from your system or \
                 with rustup, and have it on the PATH"
            );
            io::Error::new(io::ErrorKind::NotFound, what)
        };
        let asked = Command::new("rustc").args(["--print", "sysroot"]).stdin(Stdio::null()).output();
        let asked = asked.map_err(|error| missing(error.to_string()))?;
        if !asked.status.success() {
            return Err(missing(String::from_utf8_lossy(&asked.stderr).trim().to_owned()));
        }
        let sysroot = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim()).canonicalize()?;
        let program = sysroot.join("bin/rustc");
        if program.is_file() { Ok(Self { program, sysroot }) } else { Err(missing(format!("{}", program.display()))) }
    }
}

impl Recipe {
    /// C, with the system's compiler.
    pub fn c(compiler: PathBuf, flags: &[String]) -> Self {
        let mut arguments: Vec<String> = BASE_FLAGS.iter().map(ToString::to_string).collect();
        arguments.extend_from_slice(flags);
        arguments.extend(["unit.c", "-o", "unit.so", "-lm"].map(str::to_owned));
        Self { program: compiler, arguments, unit: "unit.c", sees: Vec::new() }
    }

    /// C++, with the C driver: the C++ one would link its library, which runs code at load.
    ///
    /// # Errors
    /// When the compiler has no C++ half.
    pub fn cpp(compiler: PathBuf, flags: &[String]) -> io::Result<Self> {
        let asked = Command::new(&compiler).arg("-print-prog-name=cc1plus").stdin(Stdio::null()).output()?;
        let half = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        let version = Command::new(&compiler).arg("--version").stdin(Stdio::null()).output()?;
        let is_clang = String::from_utf8_lossy(&version.stdout).contains("clang");
        if !is_clang && !PathBuf::from(&half).is_absolute() {
            let what = "this is a C++ candidate and the C compiler has no C++ half: install g++";
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        let mut recipe = Self::c(compiler, flags);
        for argument in &mut recipe.arguments {
            match argument.as_str() {
                "-std=gnu17" => "-std=gnu++20".clone_into(argument),
                "unit.c" => "unit.cpp".clone_into(argument),
                _ => {}
            }
        }
        // Exceptions and threadsafe statics would import the C++ runtime.
        recipe.arguments.extend(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"].map(str::to_owned));
        recipe.unit = "unit.cpp";
        Ok(recipe)
    }

    /// Rust.
    pub fn rust(rustc: &Rustc, flags: &[String]) -> Self {
        let mut arguments: Vec<String> = RUST_FLAGS.iter().map(ToString::to_string).collect();
        arguments.push(format!("--sysroot={}", rustc.sysroot.display()));
        arguments.extend_from_slice(flags);
        arguments.extend(["unit.rs", "-o", "unit.so"].map(str::to_owned));
        Self { program: rustc.program.clone(), arguments, unit: "unit.rs", sees: vec![rustc.sysroot.clone()] }
    }
}

/// Whether a Rust candidate may have these flags.
///
/// # Errors
/// The verdict that names the first that it may not.
pub fn vet_rust_flags(source: &Source) -> Result<(), Verdict> {
    debug_assert_eq!(source.language, Language::Rust);
    let is_word = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric());
    let is_allowed = |flag: &str| {
        RUST_ALLOWED.iter().any(|rule| match rule.strip_suffix('*') {
            Some(prefix) => flag.strip_prefix(prefix).is_some_and(is_word),
            None => flag == *rule,
        })
    };
    match source.flags.iter().find(|flag| !is_allowed(flag)) {
        Some(flag) => Err(Verdict::Refused {
            rule: Rule::ForbiddenBuild,
            detail: format!("the flag `{flag}` is not on the allow-list for Rust"),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags() {
        let check = |flag: &str, allowed: bool| {
            let source = Source { language: Language::Rust, text: String::new(), flags: vec![flag.to_owned()] };
            assert_eq!(vet_rust_flags(&source).is_ok(), allowed, "{flag}");
        };
        for flag in ["-Copt-level=2", "-Cno-vectorize-slp", "-Cllvm-args=-align-loops=64", "-Coverflow-checks=on"] {
            check(flag, true);
        }
        for flag in [
            "-Clink-arg=x.o",
            "-Clinker=sh",
            "--extern=std=x",
            "-Cllvm-args=-load=x.so",
            "-Cllvm-args=-align-loops=64 -load=x",
            "-Lx",
            "@f",
            "",
        ] {
            check(flag, false);
        }
    }
}
