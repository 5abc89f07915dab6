//! Where the peers' packages lie: virtual environments beside the build, each made from a list in `benches/zoo-peers`.
//!
//! Must not touch the machine's own Python.

use super::adapter::FOLDER;
use crate::workspace::{command, root, run};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The system's Python first: an adapter runs as nobody, who can't look into a home folder.
const PYTHONS: [&str; 2] = ["/usr/bin/python3", "python3"];

/// Variables that name a checkout, where a peer is not on PyPI. The same with `_COMMIT` is ours to fill.
pub const CHECKOUTS: [&str; 2] = ["ROOFLAB_SOL_EXECBENCH", "ROOFLAB_KERNELBENCH"];

/// Lists of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packages {
    /// The peers that search.
    Search,
    /// PyTorch and what else the peers of GPU kernels import: gigabytes, so only where a checkout is named.
    Torch,
}

impl Packages {
    fn name(self) -> &'static str {
        let is_wanted = CHECKOUTS.into_iter().any(|name| std::env::var_os(name).is_some());
        if self == Self::Torch && is_wanted { "torch" } else { "search" }
    }
}

/// The folder of all that is ours to make.
pub fn folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("zoo-peers")
}

/// The Python of an environment, which is made where it is missing or its list has changed.
///
/// # Errors
/// When it can't be made: without a network the packages can't come.
pub fn python(packages: Packages) -> Result<PathBuf> {
    let packages = packages.name();
    let list = root().join(FOLDER).join(format!("requirements-{packages}.txt"));
    let wanted = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let place = folder().join(packages);
    let (made, python) = (place.join("made-from.txt"), place.join("bin/python3"));
    if fs::read_to_string(&made).is_ok_and(|found| found == wanted) && python.is_file() {
        return Ok(python);
    }
    fs::create_dir_all(folder())?;
    let base = PYTHONS.into_iter().find(|program| !program.starts_with('/') || Path::new(program).is_file());
    let place = place.to_str().context("a folder in UTF-8")?;
    run(&mut command(&[base.unwrap_or("python3"), "-m", "venv", "--clear", place]))?;
    let [pip, list] = [Path::new(place).join("bin/pip"), list].map(|path| path.display().to_string());
    println!("installing {list}");
    run(&mut command(&[&pip, "install", "--quiet", "--disable-pip-version-check", "-r", &list]))
        .context("the peers come from PyPI: this bench needs a network once")?;
    fs::write(&made, wanted)?;
    Ok(python)
}
