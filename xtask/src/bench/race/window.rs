//! What one window of the race is: whose turn, what the truth was, what was claimed. Runs nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stats::SplitMix;
use std::fmt;

/// Seconds of a window: all that a tool may use for one answer, its warm-up and its analysis included.
pub const SECONDS: f64 = 5.0;

/// Seed of the order of turns.
pub const SEED: u64 = 20_261_130;

/// Windows after which every tool has answered about every difference once more.
pub const BLOCK: usize = Tool::ALL.len() * Difference::ALL.len();

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// `rooflab compare`.
    Rooflab,
    /// tango-bench.
    Tango,
    /// criterion.
    Criterion,
    /// hyperfine.
    Hyperfine,
}

impl Tool {
    /// In the order of the tables.
    pub const ALL: [Self; 4] = [Self::Rooflab, Self::Tango, Self::Criterion, Self::Hyperfine];
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rooflab => "rooflab",
            Self::Tango => "tango",
            Self::Criterion => "criterion",
            Self::Hyperfine => "hyperfine",
        })
    }
}

/// How much more work B does than A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Difference {
    /// None: two files of the same bytes.
    #[serde(rename = "0 %")]
    None,
    /// 1 % more rounds.
    #[serde(rename = "1 %")]
    OnePercent,
}

impl Difference {
    /// Both.
    pub const ALL: [Self; 2] = [Self::None, Self::OnePercent];

    /// Folder of its two arms, `a` and `b`. The names have equal lengths, so that no arm gets a longer first argument.
    pub fn folder(self) -> &'static str {
        match self {
            Self::None => "same",
            Self::OnePercent => "more",
        }
    }

    /// Paths of A and B from the ground.
    pub fn arms(self) -> [String; 2] {
        ["a", "b"].map(|arm| format!("{}/{arm}", self.folder()))
    }

    /// What a claim is worth when this is the truth.
    pub fn judge(self, claim: Claim) -> Worth {
        match (self, claim) {
            (Self::None, Claim::None) | (Self::OnePercent, Claim::Slower) => Worth::Right,
            (Self::OnePercent, Claim::None) => Worth::Silent,
            (Self::None, _) | (Self::OnePercent, Claim::Faster) => Worth::Wrong,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "0 %",
            Self::OnePercent => "1 %",
        })
    }
}

/// What a tool says of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// B takes longer.
    Slower,
    /// B takes less time.
    Faster,
    /// Neither.
    None,
}

impl Claim {
    /// A claim of the sign of `effect`, where one is made at all.
    pub fn of(is_made: bool, effect: f64) -> Self {
        match is_made {
            true if effect > 0.0 => Self::Slower,
            true if effect < 0.0 => Self::Faster,
            _ => Self::None,
        }
    }
}

/// A claim against the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// No claim where there is no difference, or the right one where there is.
    Right,
    /// A claim that isn't so.
    Wrong,
    /// No claim where there is a difference.
    Silent,
}

/// One way to read a tool's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// By which rule.
    pub by: String,
    /// What it says then.
    pub claim: Claim,
}

impl Reading {
    /// A reading.
    pub fn new(by: &str, claim: Claim) -> Self {
        Self { by: by.to_owned(), claim }
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Seconds from its start to its end, by our clock.
    pub wall_s: f64,
    /// The tool's own verdict first, then others that its users might read out of it.
    pub readings: Vec<Reading>,
    /// t_B / t_A - 1 as the tool estimates it.
    pub effect: Option<f64>,
    /// Interval of the effect, where the tool gives one; an end that it can't bound is null.
    pub interval: Option<[Option<f64>; 2]>,
    /// p, where there is one.
    pub p: Option<f64>,
    /// Its own words.
    pub says: Vec<String>,
    /// Its times, microseconds, and what else it based the answer on.
    pub raw: Value,
}

/// One line of the raw data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Which turn, from 0.
    pub number: usize,
    /// Who.
    pub tool: Tool,
    /// The truth.
    pub difference: Difference,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = self.answer.effect.map_or_else(String::new, |effect| format!("{:+.2} %", 100.0 * effect));
        let claims: Vec<String> = self.answer.readings.iter().map(|reading| format!("{:?}", reading.claim)).collect();
        let (tool, difference, wall) = (self.tool, self.difference, self.answer.wall_s);
        write!(f, "{tool:9}  {difference}  {wall:5.2} s  {effect:>8}  {}", claims.join(", ").to_lowercase())
    }
}

/// Whose turn it is, and on which arms. Depends on nothing but the seed and the number, so that a race can go on where
/// it stopped.
pub fn turn(seed: u64, number: usize) -> (Tool, Difference) {
    let pairs = |tool: Tool| Difference::ALL.map(|difference| (tool, difference));
    let mut turns: Vec<(Tool, Difference)> = Tool::ALL.into_iter().flat_map(pairs).collect();
    let block = (number / BLOCK) as u64;
    SplitMix::new(seed ^ (block << 32)).shuffle(&mut turns);
    turns[number % BLOCK]
}

/// Seconds as microseconds with one decimal: the clock's resolution is far below, the noise far above.
pub fn microseconds(seconds: &[f64]) -> Value {
    json!(seconds.iter().map(|time| (time * 1e7).round() / 10.0).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_everyone_once_and_blocks_differ() {
        let block = |n: usize| (0..BLOCK).map(|i| turn(SEED, n * BLOCK + i)).collect::<Vec<_>>();
        let sorted = |n| {
            let mut turns = block(n);
            turns.sort();
            turns
        };
        assert!((1..20).all(|n| sorted(n) == sorted(0)));
        assert!(sorted(0).windows(2).all(|two| two[0] != two[1]));
        assert!((1..20).filter(|n| block(*n) != block(0)).count() > 15);
        assert_ne!(block(0), (0..BLOCK).map(|i| turn(SEED + 1, i)).collect::<Vec<_>>());
    }

    #[test]
    fn claims_are_judged() {
        let check = |difference: Difference, expected: [Worth; 3]| {
            let found = [Claim::Slower, Claim::Faster, Claim::None].map(|claim| difference.judge(claim));
            assert_eq!(found, expected, "{difference}");
        };
        check(Difference::None, [Worth::Wrong, Worth::Wrong, Worth::Right]);
        check(Difference::OnePercent, [Worth::Right, Worth::Wrong, Worth::Silent]);
        assert_eq!(Claim::of(true, 0.01), Claim::Slower);
        assert_eq!(Claim::of(true, -0.01), Claim::Faster);
        assert_eq!(Claim::of(true, 0.0), Claim::None);
        assert_eq!(Claim::of(false, 0.5), Claim::None);
    }

    #[test]
    fn a_line_reads_back() {
        let answer = Answer {
            wall_s: 4.9,
            readings: vec![Reading::new("its verdict", Claim::Slower)],
            effect: Some(0.01),
            interval: Some([Some(0.005), None]),
            p: None,
            says: vec!["worse".into()],
            raw: microseconds(&[0.008_123_456]),
        };
        let window = Window { number: 3, tool: Tool::Tango, difference: Difference::OnePercent, answer };
        let line = serde_json::to_string(&window).expect("a window is JSON");
        assert!(line.contains(r#""tool":"tango","difference":"1 %""#) && line.contains("[8123.5]"), "{line}");
        assert_eq!(serde_json::from_str::<Window>(&line).expect("it is ours"), window);
        assert_eq!(window.to_string(), "tango      1 %   4.90 s   +1.00 %  slower");
    }
}
