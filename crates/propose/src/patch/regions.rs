//! Regions that may be changed. Where a file has markers, everything outside of them, and the markers, stay as they are.
//!
//! Held by text: that code inside a region can switch off what is outside (`#if 0`) is for the judge to find.

use crate::fault::Fault;

/// What a line holds that opens a region.
pub const START: &str = "EVOLVE-BLOCK-START";
/// What a line holds that closes it.
pub const END: &str = "EVOLVE-BLOCK-END";

/// Refuses a text that differs from the old one outside of the old one's regions.
///
/// # Errors
/// [`Fault::Outside`].
pub fn check(file: &str, old: &str, new: &str) -> Result<(), Fault> {
    if !old.contains(START) {
        return Ok(());
    }
    let (kept, given) = (frozen(old), frozen(new));
    let differs = |at: &usize| kept.get(*at).map(|(_, line)| *line) != given.get(*at).map(|(_, line)| *line);
    let Some(at) = (0..kept.len().max(given.len())).find(differs) else { return Ok(()) };
    // A line too many stands after the last one.
    let (line, text) = kept.get(at).or(kept.last()).copied().unwrap_or_default();
    Err(Fault::Outside { file: file.to_owned(), line, text: text.to_owned() })
}

/// The lines outside of regions with their numbers, from 1; markers are outside. Of two openings in a row the second is
/// code.
fn frozen(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let opens = !inside && line.contains(START);
        inside &= !line.contains(END);
        if !inside {
            found.push((i + 1, line.trim_end()));
        }
        inside |= opens;
    }
    found
}
