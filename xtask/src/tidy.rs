//! Holds the tree against its own rules, and names every line that breaks one.
//!
//! Must not fix anything. Rules that rustfmt or clippy can hold are theirs.

mod graph;
mod licences;
mod text;

use crate::workspace::root;
use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The platforms that rooflab is written for.
const PLATFORMS: [&str; 3] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin"];

/// Runs every rule.
///
/// # Errors
/// When a rule is broken; each breach has been printed.
pub fn run() -> Result<()> {
    let metadata = metadata()?;
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let files = text::files()?;
    let mut breaches = graph::check(&metadata, &architecture);
    breaches.extend(text::check(&files));
    breaches.extend(text::check_absences(&files, &architecture));
    breaches.extend(licences::check(&metadata)?);
    for breach in &breaches {
        println!("tidy: {breach}");
    }
    if !breaches.is_empty() {
        bail!("{} breaches", breaches.len());
    }
    Ok(())
}

fn metadata() -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml"));
    let platforms = PLATFORMS.iter().flat_map(|platform| ["--filter-platform".to_owned(), (*platform).to_owned()]);
    command.other_options(platforms.chain(["--locked".to_owned()]).collect::<Vec<_>>());
    command.exec().context("cargo metadata")
}

/// The rows of the Markdown table whose header begins with these columns; cells without their backquotes.
fn table(markdown: &str, header: &[&str]) -> Option<Vec<Vec<String>>> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    let mut lines =
        markdown.lines().skip_while(|line| !line.starts_with('|') || !cells(line).starts_with(&owned(header)));
    lines.next()?;
    Some(lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect())
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The items of a cell that lists them with commas; a dash is none.
fn items(cell: &str) -> Vec<String> {
    cell.split(',').map(str::trim).filter(|item| !item.is_empty() && *item != "-").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_by_its_header() {
        let text = "x\n| a | b |\n|---|---|\n| `p` | q, `r` |\n\n| c | d |\n|---|---|\n| s | - |\n";
        assert_eq!(table(text, &["a", "b"]), Some(vec![owned(&["p", "q, r"])]));
        assert_eq!(table(text, &["c"]), Some(vec![owned(&["s", "-"])]));
        assert_eq!(table(text, &["e"]), None);
        assert_eq!(items("q, r"), owned(&["q", "r"]));
        assert_eq!(items("-"), Vec::<String>::new());
    }
}
