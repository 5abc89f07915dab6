//! The race's tables: how often each tool was right, wrong and silent, and what its windows were like. Runs nothing.

use super::journal::{Begun, Journal};
use super::window::{Difference, SECONDS, Tool, Window, Worth};
use crate::bench::Finding;
use crate::bench::itself::share;
use anyhow::Result;
use stats::robust;
use std::fs;
use std::path::Path;

/// Shares that are wanted of rooflab: at most so many wrong where there is no difference, at least so many right at 1 %.
const MOST_WRONG: f64 = 0.01;
const LEAST_RIGHT: f64 = 0.95;

/// How often a tool that just meets the goal may fail the count: see `binomial_tail`.
const BAD_LUCK: f64 = 0.01;

const EXPLAINED: &str = "\
B does the same work as A (two files of the same bytes), or exactly 1 % more (the same file but for the digits that say
how many rounds; A first, B second, always). A window is one answer: everything from a tool's start to its end, its
warm-up, identical arms, control and analysis included. Tools and differences take turns in a random order within blocks
of eight windows. Every window's times and answer are in `windows.jsonl`.

Right: no claim at 0 %; \"B is slower\" at 1 %. Wrong: any claim at 0 %; \"B is faster\" at 1 %. Silent: no claim at 1 %.
Each with its exact interval (Clopper and Pearson, 95 %). A tool's first row is how it was asked in the race; the others
read the same windows by another rule of its own.
";

const ASKED: &str = "\
- rooflab: `rooflab compare --json --budget 5s --margin 0 -- A -- B`. A claim is `worse` or `better`.
- tango: two copies of a program that starts its arm; `tango-b compare tango-a --time 4.93 --filter-outliers
  --noise-threshold 0`. It runs both at the same time, on a core each. A claim is its star (z of 2.6 or more).
- criterion: `--save-baseline a` for A, then `--baseline a` for B, half the window each, `--noise-threshold 1e-9` (0 is
  refused), as many samples of one run as fit, 100,000 resamples, no plots. A claim is
  \"Performance has regressed\" or \"improved\".
- hyperfine: `hyperfine --shell=none --warmup 3 --runs N A B`, N from a look at how long a run takes just before. A claim
  is a ratio whose ± leaves out 1. Welch's t at 5 % is what its own `scripts/welch_ttest.py` calls different.
";

/// Writes `README.md`.
///
/// # Errors
/// When it can't be written.
pub fn write(folder: &Path, journal: &Journal) -> Result<()> {
    fs::write(folder.join("README.md"), page(journal.begun(), journal.windows()))?;
    Ok(())
}

fn page(begun: &Begun, windows: &[Window]) -> String {
    let Begun { setup, pace, machine, cores, commit, date } = begun;
    let tools: Vec<&str> = setup.tools.values().map(String::as_str).collect();
    let [less, more] = setup.rounds;
    format!(
        "# rooflab compare against its peers\n\n`cargo xtask bench compare-race`: two files, windows of {SECONDS} s, {} \
         windows.\n\n{}\n{EXPLAINED}\n## Windows\n\n{}\n## How each was asked\n\n{ASKED}\n## Where\n\n{machine}, {cores} \
         cores, commit {commit}, {date}. {}. Rounds: A {less}, the slower B {more}; the shortest run \
         of A at the start took {:.2} ms, of which the start of a process is {:.2} ms. Order of turns: seed {}.\n",
        windows.len(),
        answers(windows),
        times(windows),
        tools.join(", "),
        1e3 * pace.run_s,
        1e3 * pace.start_s,
        setup.seed,
    )
}

/// Windows of a tool at a difference.
fn of(windows: &[Window], tool: Tool, difference: Difference) -> Vec<&Window> {
    windows.iter().filter(|window| window.tool == tool && window.difference == difference).collect()
}

/// The rules by which a tool's answers are read, its own first.
fn rules(windows: &[Window], tool: Tool) -> Vec<&str> {
    let first = windows.iter().find(|window| window.tool == tool);
    first.map(|window| window.answer.readings.iter().map(|reading| reading.by.as_str()).collect()).unwrap_or_default()
}

/// How many windows are worth this, read by the rule at this place.
fn count(windows: &[&Window], rule: usize, worth: Worth) -> usize {
    let is = |window: &&&Window| {
        let claim = window.answer.readings.get(rule).map(|reading| reading.claim);
        claim.is_some_and(|claim| window.difference.judge(claim) == worth)
    };
    windows.iter().filter(is).count()
}

fn answers(windows: &[Window]) -> String {
    let mut rows = vec![String::from(
        "| tool | read by | 0 %: right | 0 %: wrong | 1 %: right | 1 %: wrong | 1 %: silent |\n|---|---|---|---|---|---|---|\n",
    )];
    for tool in Tool::ALL {
        let [none, more] = Difference::ALL.map(|difference| of(windows, tool, difference));
        for (rule, by) in rules(windows, tool).into_iter().enumerate() {
            let cell = |windows: &[&Window], worth| share(count(windows, rule, worth), windows.len());
            let cells = [
                cell(&none, Worth::Right),
                cell(&none, Worth::Wrong),
                cell(&more, Worth::Right),
                cell(&more, Worth::Wrong),
                cell(&more, Worth::Silent),
            ];
            rows.push(format!("| {tool} | {by} | {} |\n", cells.join(" | ")));
        }
    }
    rows.concat()
}

fn times(windows: &[Window]) -> String {
    let mut rows = vec![String::from(
        "| tool | difference | windows | seconds a window: median, least, most | effect: median, 5 % and 95 % of windows |\n\
         |---|---|---|---|---|\n",
    )];
    for (tool, difference) in Tool::ALL.into_iter().flat_map(|tool| Difference::ALL.map(|truth| (tool, truth))) {
        let windows = of(windows, tool, difference);
        if windows.is_empty() {
            continue;
        }
        let walls: Vec<f64> = windows.iter().map(|window| window.answer.wall_s).collect();
        let effects: Vec<f64> = windows.iter().filter_map(|window| window.answer.effect).collect();
        let at = |values: &[f64], q: f64| robust::quantile(values, q);
        let wall = format!("{:.2}, {:.2}, {:.2}", at(&walls, 0.5), at(&walls, 0.0), at(&walls, 1.0));
        let effect = if effects.is_empty() {
            "none".to_owned()
        } else {
            let [middle, low, high] = [0.5, 0.05, 0.95].map(|q| 100.0 * at(&effects, q));
            format!("{middle:+.2} %, {low:+.2} % and {high:+.2} %")
        };
        rows.push(format!("| {tool} | {difference} | {} | {wall} | {effect} |\n", windows.len()));
    }
    rows.concat()
}

/// What the bench says: the rows that matter, and whether rooflab meets its goal.
pub fn finding(windows: &[Window]) -> Finding {
    let mut rows = Vec::new();
    for tool in Tool::ALL {
        let [none, more] = Difference::ALL.map(|difference| of(windows, tool, difference));
        rows.push((format!("{tool}: wrong at 0 %"), share(count(&none, 0, Worth::Wrong), none.len())));
        rows.push((format!("{tool}: right at 1 %"), share(count(&more, 0, Worth::Right), more.len())));
    }
    let [none, more] = Difference::ALL.map(|difference| of(windows, Tool::Rooflab, difference));
    let wrong = most(none.len(), MOST_WRONG);
    let right = more.len() - most(more.len(), 1.0 - LEAST_RIGHT);
    let met = count(&none, 0, Worth::Wrong) <= wrong && count(&more, 0, Worth::Right) >= right;
    let target = format!(
        "rooflab: at most {wrong} of {} wrong at 0 % and at least {right} of {} right at 1 %, which true rates of {:.0} % \
         and {:.0} % pass 99 times in 100",
        none.len(),
        more.len(),
        100.0 * MOST_WRONG,
        100.0 * LEAST_RIGHT
    );
    Finding { rows, milliseconds: Vec::new(), target, met }
}

/// The most failures of `n` that a true rate explains, but for bad luck.
fn most(n: usize, rate: f64) -> usize {
    (0..n).find(|hits| stats::binomial_tail(*hits, n, rate) <= BAD_LUCK).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::super::ground::{Pace, Setup};
    use super::super::window::{Answer, Claim, Reading};
    use super::*;

    fn window(tool: Tool, difference: Difference, claims: [Claim; 2]) -> Window {
        let names = ["its own", "another"];
        let readings = names.into_iter().zip(claims).map(|(by, claim)| Reading::new(by, claim)).collect();
        let answer = Answer {
            wall_s: 4.9,
            readings,
            effect: Some(0.01),
            interval: None,
            p: None,
            says: Vec::new(),
            raw: serde_json::Value::Null,
        };
        Window { number: 0, tool, difference, answer }
    }

    fn race(wrong: usize, right: usize) -> Vec<Window> {
        let one = |i: usize| {
            let none = if i < wrong { Claim::Slower } else { Claim::None };
            let more = if i < right { Claim::Slower } else { Claim::None };
            [
                window(Tool::Rooflab, Difference::None, [none, Claim::None]),
                window(Tool::Rooflab, Difference::OnePercent, [more, Claim::Faster]),
            ]
        };
        (0..75).flat_map(one).collect()
    }

    #[test]
    fn the_table_counts_by_each_rule() {
        let table = answers(&race(2, 72));
        let all = "75 of 75: 100.0 % [95.2, 100.0]";
        let none = "0 of 75: 0.0 % [0.0, 4.8]";
        assert!(
            table.contains("| rooflab | its own | 73 of 75: 97.3 % [90.7, 99.7] | 2 of 75: 2.7 % [0.3, 9.3] |"),
            "{table}"
        );
        assert!(
            table.contains(&format!("| rooflab | another | {all} | {none} | {none} | {all} | {none} |")),
            "{table}"
        );
        assert!(!table.contains("| tango"), "{table}");
    }

    #[test]
    fn the_goal_allows_for_luck() {
        assert_eq!((most(75, 0.01), most(75, 0.05), most(1, 0.0), most(0, 0.5)), (3, 9, 0, 0));
        let check = |wrong, right, met| assert_eq!(finding(&race(wrong, right)).met, met, "{wrong} {right}");
        check(3, 66, true);
        check(4, 75, false);
        check(0, 65, false);
    }

    #[test]
    fn the_page_says_where_and_how() {
        let tools = [("rooflab".to_owned(), "rooflab 0.1.0".to_owned())].into();
        let begun = Begun {
            setup: Setup { seed: 7, seconds: 5.0, rounds: [100, 101], tools },
            pace: Pace { run_s: 0.008, start_s: 0.0006 },
            machine: "a processor".into(),
            cores: 2,
            commit: "abc".into(),
            date: "2026-01-31".into(),
        };
        let page = page(&begun, &race(0, 75));
        for part in
            ["windows of 5 s, 150 windows", "8.00 ms", "0.60 ms", "A 100, the slower B 101", "| rooflab | 1 % | 75 |"]
        {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
}
