//! `zoo-peers`: the zoo's cheats before other evaluators, with their honest twins as the control. How many does each
//! catch, how many honest candidates does it turn away?
//!
//! Must not favour anyone: the same candidates go to all, each peer is run as its own package or repository has it, and
//! what of it can't run here is said, not imitated. The adapters are `benches/zoo-peers`.

mod adapter;
mod answer;
mod cases;
mod confined;
mod journal;
mod ours;
mod place;
mod table;

use super::{Entry, Finding, Record, Rig};
use crate::needs;
use adapter::Adapter;
use answer::{About, Answer, Line};
use anyhow::Result;
use cases::Case;
use journal::Journal;
use place::Packages;
use std::path::Path;

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "zoo-peers",
    asks: "the zoo's cheats and their honest twins before other evaluators: what does each catch, and whom does it turn \
           away?",
    runs: cases::GROUPS,
    measure,
};

/// The peers' adapters, each with the list of packages that it needs.
const PEERS: [(&str, Packages); 5] = [
    ("openevolve_peer.py", Packages::Search),
    ("shinka_peer.py", Packages::Search),
    ("sol_execbench_peer.py", Packages::Torch),
    ("kernelbench_peer.py", Packages::Torch),
    ("flashinfer_bench_peer.py", Packages::Torch),
];

/// Somebody to put a candidate before.
enum Evaluator<'a> {
    Ours(&'a Rig),
    Peer(Box<Adapter>),
}

impl Evaluator<'_> {
    fn about(&self) -> &About {
        match self {
            Self::Ours(_) => ours::about(),
            Self::Peer(adapter) => adapter.about(),
        }
    }

    fn ask(&mut self, case: &Case) -> Result<Answer> {
        match self {
            Self::Ours(rig) => ours::ask(rig, case),
            Self::Peer(adapter) => adapter.ask(case),
        }
    }
}

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    needs::meet_zoo_peers()?;
    let mut evaluators = vec![Evaluator::Ours(rig)];
    for (script, packages) in PEERS {
        evaluators.push(Evaluator::Peer(Box::new(Adapter::open(script, packages)?)));
    }
    let abouts: Vec<About> = evaluators.iter().map(|evaluator| evaluator.about().clone()).collect();
    for about in abouts.iter().filter(|about| about.reason.is_some()) {
        eprintln!("{} cannot run here: {}", about.peer, about.reason.as_deref().unwrap_or_default());
    }
    evaluators.retain(|evaluator| evaluator.about().reason.is_none());
    let mut journal = Journal::open(record.folder(), abouts)?;
    let groups = cases::groups();
    let cases: Vec<Case> = groups.into_iter().take(rig.runs()).flatten().collect();
    for case in &cases {
        for evaluator in &mut evaluators {
            look(evaluator, case, 1, &mut journal)?;
        }
    }
    // A clock that jumped shows once, a trick that pays twice.
    for (peer, file) in journal.doubtful() {
        let evaluator = evaluators.iter_mut().find(|evaluator| evaluator.about().peer == peer);
        let pair = cases.iter().filter(|case| case.file == file || cases::twin_of(&cases, &file) == Some(&case.file));
        if let Some(evaluator) = evaluator {
            for case in pair {
                look(evaluator, case, 2, &mut journal)?;
            }
        }
    }
    table::write(record.folder(), &journal)?;
    Ok(table::finding(&journal))
}

/// Asks, unless the journal has the answer.
fn look(evaluator: &mut Evaluator<'_>, case: &Case, look: u32, journal: &mut Journal) -> Result<()> {
    let peer = evaluator.about().peer.clone();
    if journal.has(&peer, &case.file, look) {
        return Ok(());
    }
    let answer = evaluator.ask(case)?;
    let name = Path::new(&case.file).file_name().unwrap_or_default().to_string_lossy();
    let speedup = answer.speedup.map_or_else(String::new, |speedup| format!("{speedup:.2}x"));
    eprintln!(
        "{name:34} {peer:14} {:6.1} s  {:9} {speedup:>8}  {}",
        answer.seconds,
        answer.verdict.name(),
        answer.says
    );
    journal.push(Line { peer, look, case: case.clone(), answer })
}
