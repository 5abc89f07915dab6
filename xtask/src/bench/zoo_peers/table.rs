//! The bench's tables: what each evaluator catches, and every candidate's row. Runs nothing.

use super::answer::{About, Fate};
use super::cases::{Case, Language};
use super::journal::Journal;
use super::ours;
use crate::bench::Finding;
use anyhow::Result;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const EXPLAINED: &str = "\
The same candidates go to every evaluator: the zoo's C cheats with their honest twins, and the Python ones. A cheat is
*caught* when it gets no score, whatever the reason. It *pays* when it gets one and the evaluator's own figures make it at
least 1.25 times as fast as its honest twin, in two looks; else it is *let through*: its result counts as right, but it
gains nothing. An honest candidate that gets no score is *turned away*. rooflab's row is from the same run; what it lets
through is what its table expects to gain nothing.

What these counts are not: the candidates were written against rooflab. Cheats that look for its control page or its
poison find neither in a peer, and then are ordinary code or compute nothing; most of the tricks that live from a GPU
(streams, lazy tensors) are here in the nearest form that a CPU has. The peers' tasks are ours, in the manner of their own
examples; where such a task is the user's program, as with OpenEvolve and ShinkaEvolve, a stricter one would catch more.
All ran in namespaces of this bench, as nobody, without a network.
";

/// How many of an evaluator's answers are what.
#[derive(Debug, Default, PartialEq)]
struct Count {
    caught: usize,
    gainless: usize,
    pays: usize,
    honest: usize,
    turned_away: usize,
}

impl Count {
    fn of(journal: &Journal, peer: &str, language: Language) -> Self {
        let mut count = Self::default();
        for case in journal.cases().into_iter().filter(|case| case.language == language) {
            match journal.fate(peer, &case.file) {
                Some(Fate::Caught) if !case.is_cheat() => count.turned_away += 1,
                Some(Fate::Caught) => count.caught += 1,
                Some(Fate::Gainless) if case.is_cheat() => count.gainless += 1,
                Some(Fate::Pays) => count.pays += 1,
                Some(Fate::Gainless) | None => {}
            }
            count.honest += usize::from(!case.is_cheat() && journal.has(peer, &case.file, 1));
        }
        count
    }

    fn cheats(&self) -> usize {
        self.caught + self.gainless + self.pays
    }

    fn cells(&self) -> [String; 4] {
        [
            format!("{} of {}", self.caught, self.cheats()),
            self.gainless.to_string(),
            self.pays.to_string(),
            format!("{} of {}", self.turned_away, self.honest),
        ]
    }
}

/// The finding: a row an evaluator, and what is wanted of rooflab.
pub fn finding(journal: &Journal) -> Finding {
    let row = |about: &About| {
        let Some(reason) = &about.reason else {
            let counts = [Language::C, Language::Python].map(|language| Count::of(journal, &about.peer, language));
            let [c, python] = counts.map(|count| {
                let [caught, gainless, pays, away] = count.cells();
                format!("caught {caught}, let through {gainless}, paid {pays}, honest turned away {away}")
            });
            return (about.peer.clone(), format!("C: {c}; Python: {python}"));
        };
        (about.peer.clone(), format!("cannot run here: {reason}"))
    };
    let ours = [Language::C, Language::Python].map(|language| Count::of(journal, &ours::about().peer, language));
    Finding {
        rows: journal.setup().peers.iter().map(row).collect(),
        milliseconds: Vec::new(),
        target: "with rooflab no cheat pays and no honest candidate is turned away".to_owned(),
        met: ours.iter().all(|count| count.pays == 0 && count.turned_away == 0),
    }
}

/// Writes `README.md`.
///
/// # Errors
/// When it can't be written.
pub fn write(folder: &Path, journal: &Journal) -> Result<()> {
    fs::write(folder.join("README.md"), page(journal))?;
    Ok(())
}

fn page(journal: &Journal) -> String {
    let setup = journal.setup();
    let (withheld, machine) = (setup.withheld.join(", "), &setup.machine);
    format!(
        "# The zoo before other evaluators\n\n`cargo xtask bench zoo-peers`\n\n{EXPLAINED}\n## Counts\n\n{}\n## What was \
         run\n\n{}\nNot put before anybody, since they attack the machine and not the measurement: {withheld}.\n\n## Cheats \
         that are let through or pay\n\n{}\n## Honest candidates that are turned away\n\n{}\n## Where\n\n{machine}, {} \
         cores, commit {}, {}. Every answer is in `answers.jsonl`.\n",
        counts(journal),
        runs(journal),
        cheats(journal),
        honest(journal),
        setup.cores,
        setup.commit,
        setup.date,
    )
}

fn asked(journal: &Journal) -> Vec<&About> {
    journal.setup().peers.iter().filter(|about| about.reason.is_none()).collect()
}

fn counts(journal: &Journal) -> String {
    let mut text = String::from(
        "| evaluator | C cheats: caught | let through | pay | honest C turned away | Python cheats: caught | let through | \
         pay | honest Python turned away |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for about in asked(journal) {
        let counts = [Language::C, Language::Python].map(|language| Count::of(journal, &about.peer, language).cells());
        let _ = writeln!(text, "| {} | {} |", about.peer, counts.concat().join(" | "));
    }
    text
}

fn runs(journal: &Journal) -> String {
    let line = |about: &About| match &about.reason {
        None => format!("- {} ({}): {}.\n", about.peer, about.version, about.part),
        Some(reason) => format!("- {} ({}): cannot run here: {reason}.\n", about.peer, about.version),
    };
    journal.setup().peers.iter().map(line).collect()
}

/// Every cheat that somebody scores, with each evaluator's answer.
fn cheats(journal: &Journal) -> String {
    let peers = asked(journal);
    let is_through = |case: &&Case| {
        let fates = peers.iter().filter_map(|about| journal.fate(&about.peer, &case.file));
        case.is_cheat() && fates.into_iter().any(|fate| fate != Fate::Caught)
    };
    let cell = |case: &Case, about: &About| match journal.fate(&about.peer, &case.file) {
        None => "not asked".to_owned(),
        Some(Fate::Caught) => "caught".to_owned(),
        Some(Fate::Gainless) => "through".to_owned(),
        Some(Fate::Pays) => {
            let claimed = journal.line(&about.peer, &case.file, 1).and_then(|line| line.answer.speedup);
            format!("**pays**, {:.3}x", claimed.unwrap_or(f64::NAN))
        }
    };
    rows(&peers, journal.cases().into_iter().filter(is_through).collect(), &cell)
}

/// Every honest candidate that somebody turns away, with each evaluator's words.
fn honest(journal: &Journal) -> String {
    let peers = asked(journal);
    let scored = |case: &Case, about: &About| {
        journal.line(&about.peer, &case.file, 1).is_none_or(|line| line.answer.verdict.is_scored())
    };
    let is_away = |case: &&Case| !case.is_cheat() && !peers.iter().all(|about| scored(case, about));
    let cell = |case: &Case, about: &About| {
        let line = journal.line(&about.peer, &case.file, 1);
        let said = line.filter(|line| !line.answer.verdict.is_scored());
        said.map_or_else(|| "passed".to_owned(), |line| format!("{}: {}", line.answer.verdict.name(), line.answer.says))
    };
    rows(&peers, journal.cases().into_iter().filter(is_away).collect(), &cell)
}

fn rows(peers: &[&About], cases: Vec<&Case>, cell: &dyn Fn(&Case, &About) -> String) -> String {
    if cases.is_empty() {
        return "none\n".to_owned();
    }
    let names: Vec<&str> = peers.iter().map(|about| about.peer.as_str()).collect();
    let mut text = format!("| candidate | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for case in cases {
        let cells: Vec<String> = peers.iter().map(|about| cell(case, about).replace('|', "/")).collect();
        let name = case.file.rsplit('/').next().unwrap_or_default();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::journal::tests::journal;
    use super::*;

    #[test]
    fn counts_are_of_the_lines() {
        let journal = journal();
        let count = Count::of(&journal, "peer", Language::C);
        assert_eq!(count, Count { caught: 1, gainless: 1, pays: 1, honest: 3, turned_away: 1 });
        assert_eq!(Count::of(&journal, "peer", Language::Python), Count::default());
        let found = finding(&journal);
        assert!(found.met, "{}", found.target);
        let [.., peer, other] = &found.rows[..] else { panic!("{:?}", found.rows) };
        assert_eq!(other.1, "cannot run here: no GPU");
        assert!(
            peer.1.starts_with("C: caught 1 of 3, let through 1, paid 1, honest turned away 1 of 3;"),
            "{}",
            peer.1
        );
    }

    #[test]
    fn the_page_names_what_gets_through() {
        let page = page(&journal());
        for part in [
            "| peer | 1 of 3 | 1 | 1 | 1 of 3 |",
            "**pays**, 8.000x",
            "| a.twin.c |",
            "- other (1): cannot run here: no GPU.",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert!(!page.contains("| a.cheat.c |"), "{page}");
    }
}
