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
    is_there: fn() -> bool,
}

const NEEDS: &[Need] = &[
    Need {
        what: "a C compiler with its headers",
        why: "candidates and oracles are C",
        packages: &["gcc", "libc6-dev", "binutils"],
        is_there: || on_path("cc") && on_path("as") && (cfg!(not(target_os = "linux")) || header("stdio.h")),
    },
    Need { what: "git", why: "tidy asks it which files are ours", packages: &["git"], is_there: || on_path("git") },
    Need {
        what: "chromium",
        why: "report pages are laid out in a browser",
        packages: &["chromium"],
        is_there: || ["chromium", "chromium-browser", "google-chrome"].into_iter().any(on_path),
    },
    Need {
        what: "a font",
        why: "a page without one has no width",
        packages: &["fonts-dejavu-core"],
        is_there: || cfg!(not(target_os = "linux")) || any_file(Path::new("/usr/share/fonts")),
    },
];

/// What the race against the peers needs beyond cargo, which fetches the others.
const PEERS: &[Need] = &[Need {
    what: "hyperfine",
    why: "it is one of the peers that the race is against",
    packages: &["hyperfine"],
    is_there: || on_path("hyperfine"),
}];

/// Sees to every need of the tests.
///
/// # Errors
/// When something is missing that can't be installed from here; the message says what to install.
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

fn see_to(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    if on_path("apt-get") && is_root() {
        install(&packages)?;
    }
    let missing: Vec<&&Need> = missing.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for need in &missing {
        eprintln!("missing: {} ({})", need.what, need.why);
    }
    bail!("install what is missing, on Debian by `sudo apt-get install {}`", packages.join(" "));
}

fn install(packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(" "));
    let apt = |arguments: &[&str]| run(command(arguments).env("DEBIAN_FRONTEND", "noninteractive"));
    apt(&["apt-get", "-qq", "update"])?;
    apt(&[&["apt-get", "-qq", "install", "-y", "--no-install-recommends"], packages].concat())
}

fn is_root() -> bool {
    output(&mut command(&["id", "-u"])).is_ok_and(|id| id.trim() == "0")
}

fn header(name: &str) -> bool {
    Path::new("/usr/include").join(name).is_file()
}

fn any_file(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.is_file() || any_file(&path))
}
