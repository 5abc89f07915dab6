//! What the tests and a bench need of the machine: installed where we may, named where we may not.
//!
//! Must not install anything that is there already, nor anything that only the product's user would want.

use crate::workspace::{command, on_path, output, run};
use anyhow::{Result, bail};
use std::path::Path;

struct Need {
    what: &'static str,
    why: &'static str,
    packages: &'static [&'static str],
    without: Without,
    is_there: fn() -> bool,
}

/// What becomes of the tests where it can't be installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Without {
    /// None can be trusted.
    Fail,
    /// Those that need it skip, and say so.
    Skip,
}

const NEEDS: &[Need] = &[
    Need {
        what: "a C compiler with its headers",
        why: "candidates and oracles are C",
        packages: &["gcc", "libc6-dev", "binutils"],
        without: Without::Fail,
        is_there: || on_path("cc") && on_path("as") && (cfg!(not(target_os = "linux")) || header("stdio.h")),
    },
    Need {
        what: "git",
        why: "tidy asks it which files are ours",
        packages: &["git"],
        without: Without::Fail,
        is_there: || on_path("git"),
    },
    Need {
        what: "a C++ compiler",
        why: "C++ candidates go through its half of the C compiler",
        packages: &["g++"],
        without: Without::Fail,
        is_there: || on_path("g++") || on_path("clang++"),
    },
    Need {
        what: "a Python with NumPy",
        why: "Python candidates run in it",
        packages: &["python3", "python3-numpy"],
        without: Without::Fail,
        // Not PyTorch: it takes minutes to install, and the one test that wants it says that it skips.
        is_there: || has_python("numpy"),
    },
    Need {
        what: "chromium",
        why: "report pages are laid out in a browser",
        packages: &["chromium"],
        without: Without::Fail,
        is_there: || ["chromium", "chromium-browser", "google-chrome"].into_iter().any(on_path),
    },
    Need {
        what: "a font",
        why: "a page without one has no width",
        packages: &["fonts-dejavu-core"],
        without: Without::Fail,
        is_there: || cfg!(not(target_os = "linux")) || any_file(Path::new("/usr/share/fonts")),
    },
    Need {
        what: "PostgreSQL",
        why: "SQL arms are compared on a private server",
        packages: &["postgresql"],
        without: Without::Skip,
        is_there: || on_path("psql") && (on_path("initdb") || programs_of_postgresql()),
    },
];

/// What the race against the peers needs beyond cargo, which fetches the others.
const PEERS: &[Need] = &[Need {
    what: "hyperfine",
    why: "it is one of the peers that the race is against",
    packages: &["hyperfine"],
    without: Without::Fail,
    is_there: || on_path("hyperfine"),
}];

/// What the zoo needs to go before other evaluators, beyond their packages.
const ZOO_PEERS: &[Need] = &[
    Need {
        what: "a Python that makes virtual environments",
        why: "the other evaluators are installed in some",
        packages: &["python3", "python3-venv"],
        without: Without::Fail,
        is_there: || has_python("venv, ensurepip"),
    },
    Need {
        what: "unshare, setpriv and prlimit",
        why: "hostile candidates go before evaluators that contain none",
        packages: &["util-linux"],
        without: Without::Fail,
        is_there: || ["unshare", "setpriv", "prlimit"].into_iter().all(on_path),
    },
];

/// Sees to every need of the tests.
///
/// # Errors
/// When something is missing that can't be installed from here and that the tests can't do without; the message says
/// what to install.
pub fn meet() -> Result<()> {
    see_to(NEEDS)
}

/// Sees to the peers of the race.
///
/// # Errors
/// As [`meet`].
pub fn meet_peers() -> Result<()> {
    see_to(PEERS)
}

/// Sees to what the zoo needs to go before other evaluators.
///
/// # Errors
/// As [`meet`].
pub fn meet_zoo_peers() -> Result<()> {
    see_to(ZOO_PEERS)
}

fn see_to(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    if on_path("apt-get")
        && is_root()
        && let Err(error) = install(&packages)
    {
        println!("{error:#}");
    }
    let missing: Vec<&&Need> = missing.iter().filter(|need| !(need.is_there)()).collect();
    for need in &missing {
        let then = if need.without == Without::Skip { "; the tests that need it skip" } else { "" };
        eprintln!("missing: {} ({}){then}", need.what, need.why);
    }
    if missing.iter().all(|need| need.without == Without::Skip) {
        return Ok(());
    }
    bail!("install what is missing, on Debian by `sudo apt-get install {}`", packages.join(" "));
}

fn install(packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(" "));
    let apt = |arguments: &[&str]| run(command(arguments).env("DEBIAN_FRONTEND", "noninteractive"));
    apt(&["apt-get", "-qq", "update"])?;
    apt(&[&["apt-get", "-qq", "install", "-y", "--no-install-recommends"], packages].concat())
}

/// Whether a Python that the judge would find has these modules.
fn has_python(modules: &str) -> bool {
    let named = std::env::var("ROOFLAB_PYTHON").ok();
    let programs = named.as_deref().map_or_else(|| vec!["python3", "/usr/bin/python3"], |program| vec![program]);
    let import = format!("import {modules}");
    programs.into_iter().any(|program| output(&mut command(&[program, "-I", "-c", &import])).is_ok())
}

fn is_root() -> bool {
    output(&mut command(&["id", "-u"])).is_ok_and(|id| id.trim() == "0")
}

/// Debian keeps the server's programs off the path.
fn programs_of_postgresql() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin/initdb")).any(|program| program.is_file())
}

fn header(name: &str) -> bool {
    Path::new("/usr/include").join(name).is_file()
}

fn any_file(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.is_file() || any_file(&path))
}
