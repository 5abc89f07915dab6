//! The kinds of edit, one file each and one line in the registry. An edit lists everything it could do to a source;
//! it chooses nothing and proves nothing: the judge does.

mod accumulators;
mod align;
mod distribute;
mod expand_reduction;
mod fast_exp;
mod flag;
mod fuse;
mod hoist;
mod interchange;
mod prefetch;
mod reciprocal;
mod register_tile;
mod register_tile_text;
mod restrict;
mod row_block;
mod row_block_text;
mod select;
mod simd;
mod stream;
mod strip_mine;
mod tunable;
mod unroll;
mod unroll_jam;

use super::syntax::Code;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub use flag::OFFERED_FLAGS;

/// One thing that an edit could do.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// What, in a few words, that it works on (a loop, a sum, an array) first: equal for the same idea in another version
    /// of the source. With the kind it is a sentence: `unroll-and-jam j by 4`.
    pub what: String,
    /// Where, in the source before the edit; 0 for the source as a whole.
    pub line: usize,
    /// The source after it.
    pub text: String,
    /// The flags after it.
    pub flags: Vec<String>,
}

impl Offer {
    /// An offer that changes the text alone.
    pub fn text(code: &Code, line: usize, what: String, text: String) -> Self {
        Self { what, line, text, flags: code.flags.clone() }
    }

    /// What and where, for people.
    pub fn note(&self) -> String {
        if self.line == 0 { self.what.clone() } else { format!("{} (line {})", self.what, self.line) }
    }
}

/// A kind of edit.
pub struct Edit {
    /// Its name in the ledger.
    pub kind: &'static str,
    /// How often it is tried before anything is known, relative to the others.
    pub weight: f64,
    /// The kind that makes it pay: a chain goes on with that one.
    pub follow: Option<&'static str>,
    /// Everything that it could do to a source.
    pub offers: fn(&Code) -> Vec<Offer>,
}

impl Edit {
    /// Everything that it could do to a source, in words that name one offer each and that a list can hold.
    pub fn all(&self, code: &Code) -> Vec<Offer> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut offers = (self.offers)(code);
        for offer in &mut offers {
            let words = offer.what.split_whitespace().collect::<Vec<_>>().join(" ");
            offer.what = words.replace(", ", ",").replace("; ", ";");
            let count = counts.entry(offer.what.clone()).or_default();
            *count += 1;
            if *count > 1 {
                let _ = write!(offer.what, " #{count}");
            }
        }
        offers
    }
}

/// The registry. Weights: what changes the order of work first, decoration last; verdicts take over soon.
pub const EDITS: &[Edit] = &[
    Edit { kind: "register-tile", weight: 5.0, follow: None, offers: register_tile::offers },
    Edit { kind: "row-block", weight: 8.0, follow: Some("register-tile"), offers: row_block::offers },
    Edit { kind: "expand-reduction", weight: 2.0, follow: None, offers: expand_reduction::offers },
    Edit { kind: "unroll-and-jam", weight: 2.0, follow: None, offers: unroll_jam::offers },
    Edit { kind: "accumulators", weight: 3.0, follow: None, offers: accumulators::offers },
    Edit { kind: "fast-exp", weight: 3.0, follow: None, offers: fast_exp::offers },
    Edit { kind: "simd", weight: 1.5, follow: None, offers: simd::offers },
    Edit { kind: "interchange", weight: 1.0, follow: None, offers: interchange::offers },
    Edit { kind: "strip-mine", weight: 0.5, follow: None, offers: strip_mine::offers },
    Edit { kind: "fuse", weight: 1.0, follow: None, offers: fuse::offers },
    Edit { kind: "distribute", weight: 1.0, follow: None, offers: distribute::offers },
    Edit { kind: "select", weight: 1.5, follow: None, offers: select::offers },
    Edit { kind: "reciprocal", weight: 1.0, follow: None, offers: reciprocal::offers },
    Edit { kind: "stream", weight: 1.0, follow: None, offers: stream::offers },
    Edit { kind: "prefetch", weight: 0.5, follow: None, offers: prefetch::offers },
    Edit { kind: "hoist", weight: 0.5, follow: None, offers: hoist::offers },
    Edit { kind: "restrict", weight: 0.7, follow: None, offers: restrict::offers },
    Edit { kind: "align", weight: 0.5, follow: None, offers: align::offers },
    Edit { kind: "unroll", weight: 0.7, follow: None, offers: unroll::offers },
    Edit { kind: "tunable", weight: 1.5, follow: None, offers: tunable::offers },
    Edit { kind: "flag", weight: 1.5, follow: None, offers: flag::offers },
];

/// The edit of a kind.
pub fn edit(kind: &str) -> Option<&'static Edit> {
    EDITS.iter().find(|edit| edit.kind == kind)
}
