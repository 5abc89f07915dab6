//! A new problem's folder, from templates: it loads, judges and runs as it stands.
//!
//! Must not overwrite anything.

use crate::ProblemError;
use std::fs;
use std::path::{Path, PathBuf};

/// The template's files, with `{{name}}` and `{{entry}}` to fill in.
const FILES: [(&str, &str); 4] = [
    ("problem.toml", include_str!("../template/problem.toml")),
    ("oracle.c", include_str!("../template/oracle.c")),
    ("hints.md", include_str!("../template/hints.md")),
    ("baselines/naive.c", include_str!("../template/baselines/naive.c")),
];

/// Writes a problem called `name` into a new folder of that name in `dir`; returns the folder.
///
/// # Errors
/// When the name can't be a problem's, the folder exists, or a file can't be written.
pub fn create(dir: &Path, name: &str) -> Result<PathBuf, ProblemError> {
    if !is_problem_name(name) {
        return Err(ProblemError::Name(name.to_owned()));
    }
    let folder = dir.join(name);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ProblemError::File { path, source }
    };
    fs::create_dir_all(dir).map_err(failed(dir))?;
    fs::create_dir(&folder).map_err(failed(&folder))?;
    fs::create_dir(folder.join("baselines")).map_err(failed(&folder))?;
    for (file, template) in FILES {
        let path = folder.join(file);
        let text = template.replace("{{name}}", name).replace("{{entry}}", &name.replace('-', "_"));
        fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(folder)
}

/// Whether `name` can name a problem, its folder and, with `_` for `-`, its C function.
pub(crate) fn is_problem_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && crate::expression::is_name(&name.replace('-', "_"))
}
