//! An outcome as GitHub-flavoured Markdown: what a pull request's comment shows. Pure text.

use crate::outcome::{ArmReport, Comparison, Levels, Outcome};
use stats::Decision;
use std::fmt::Write as _;

impl Outcome {
    /// A sentence, a table of the arms, then what weakens it.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}**\n\n", self.sentence());
        text.push_str("| arm | time | user | system | peak memory | against the first | interval | verdict |\n");
        text.push_str("|---|--:|--:|--:|--:|--:|--:|---|\n");
        for arm in &self.arms {
            let comparison = self.comparisons.iter().find(|comparison| comparison.arm == arm.name);
            text.push_str(&row(arm, comparison));
        }
        let _ = writeln!(text, "\n{}", self.small_print());
        let levels = self.levels.as_ref().map(Levels::words);
        for line in levels.iter().chain(&self.unknowable).chain(&self.notes) {
            let _ = writeln!(text, "- {}", escape(line));
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "- warning: {}", escape(&warning.to_string()));
        }
        text
    }

    /// The verdict in one sentence.
    pub fn sentence(&self) -> String {
        if let Some(why) = &self.aborted {
            return format!("No verdict, the run was ended: {why}");
        }
        if let Some(why) = &self.discarded {
            return format!("No verdict, the run is discarded: {why}");
        }
        if self.comparisons.iter().filter(|comparison| !comparison.is_control).count() > 1 {
            return self.sentence_of_many();
        }
        let Some(comparison) = self.comparisons.first() else { return "Nothing was compared".to_owned() };
        let (b, a) = (code(&comparison.arm), code(&comparison.against));
        let by = comparison.effect.map_or(String::new(), |effect| format!(" by {}", percent(effect.abs())));
        let within = format!("[{}, {}]", end(comparison.interval[0]), end(comparison.interval[1]));
        match self.verdict {
            Decision::Better => format!("{b} is faster than {a}{by} {within}"),
            Decision::Worse => format!("{b} is slower than {a}{by} {within}"),
            Decision::Equivalent => {
                format!("{b} and {a} differ by less than {} {within}", percent(self.margin.exp_m1()))
            }
            Decision::Undecided => format!("Undecided between {b} and {a}: the difference is in {within}"),
        }
    }

    /// Comparisons of which each has an A of its own, such as the workloads of a problem.
    fn sentence_of_pairs(&self) -> String {
        let count = |verdict: Decision| {
            let n = self.comparisons.iter().filter(|found| !found.is_control && found.verdict == verdict).count();
            (n > 0).then(|| format!("{n} {}", verdict.name()))
        };
        let counts: Vec<String> = [Decision::Better, Decision::Worse, Decision::Equivalent, Decision::Undecided]
            .into_iter()
            .filter_map(count)
            .collect();
        let mean = self.effect.map_or("unknown".to_owned(), signed);
        let within = format!("[{}, {}]", end(self.interval[0]), end(self.interval[1]));
        format!("{} over all: {mean} on geometric mean {within}; {}", self.verdict.name(), counts.join(", "))
    }

    fn sentence_of_many(&self) -> String {
        if self.comparisons.iter().all(|found| found.accepted.is_none()) {
            return self.sentence_of_pairs();
        }
        let told = |comparison: &&Comparison| comparison.accepted == Some(true);
        let names: Vec<String> = self.comparisons.iter().filter(told).map(|found| code(&found.arm)).collect();
        let first = self.comparisons.first().map_or(String::new(), |found| code(&found.against));
        if names.is_empty() {
            format!("None of {} arms can be told from {first}", self.comparisons.len())
        } else {
            format!("{} of {} arms differ from {first}: {}", names.len(), self.comparisons.len(), names.join(", "))
        }
    }

    fn small_print(&self) -> String {
        let mut text = format!("{} pairs, {} rule, error rate {}", self.pairs, self.rule, percent(self.alpha));
        if let Some(sigma) = self.sigma {
            let _ = write!(text, ", noise {} a pair", percent(sigma));
        }
        if let Some(of) = &self.sigma_of {
            let _ = write!(text, " ({})", of.words());
        }
        if let Some(resolvable) = self.resolvable.filter(|effect| effect.is_finite()) {
            let _ = write!(text, ", resolves {} in the budget", percent(resolvable));
        }
        if let Some(control) = &self.control {
            let _ = write!(text, ", first arm drifted {}", signed(control.drift.exp_m1()));
        }
        text
    }
}

fn row(arm: &ArmReport, comparison: Option<&Comparison>) -> String {
    let time = |value: Option<f64>| value.map_or("-".to_owned(), seconds);
    let peak = arm.peak_memory.map_or("-".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6));
    let against = comparison.and_then(|found| found.effect).map_or("-".to_owned(), signed);
    let interval =
        comparison.map_or("-".to_owned(), |found| format!("{} .. {}", end(found.interval[0]), end(found.interval[1])));
    let verdict = comparison.map_or("-", |found| found.verdict.name());
    let control = if comparison.is_some_and(|found| found.is_control) { " (control)" } else { "" };
    format!(
        "| {} | {} | {} | {} | {peak} | {against} | {interval} | {verdict}{control} |\n",
        code(&arm.name),
        time(arm.median),
        time(arm.user),
        time(arm.system)
    )
}

/// Three digits and a unit.
pub(crate) fn seconds(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        // A clock of 1 us shows 0 for less.
        0.0 => return "0".to_owned(),
        x if x >= 1.0 => (1.0, "s"),
        x if x >= 1e-3 => (1e3, "ms"),
        x if x >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    let shown = value * scale;
    let digits = if shown.abs() >= 100.0 { 0 } else { usize::from(shown.abs() < 10.0) + 1 };
    format!("{shown:.digits$} {unit}")
}

/// `40 s`, `25 min`, `3 h`.
pub(crate) fn age(seconds: f64) -> String {
    match seconds.max(0.0) {
        few if few < 90.0 => format!("{few:.0} s"),
        some if some < 5400.0 => format!("{:.0} min", some / 60.0),
        many if many < 172_800.0 => format!("{:.0} h", many / 3600.0),
        more => format!("{:.0} days", more / 86_400.0),
    }
}

pub(crate) fn percent(fraction: f64) -> String {
    let shown = 100.0 * fraction;
    let digits = if shown.abs() >= 10.0 { 1 } else { 2 };
    format!("{shown:.digits$} %")
}

fn signed(fraction: f64) -> String {
    let shown = percent(fraction);
    if fraction >= 0.0 { format!("+{shown}") } else { shown }
}

fn end(effect: Option<f64>) -> String {
    effect.map_or("unbounded".to_owned(), signed)
}

fn code(name: &str) -> String {
    let short: String =
        if name.chars().count() > 60 { name.chars().take(57).chain("...".chars()).collect() } else { name.to_owned() };
    // A backtick would end the code span early, a bar the cell.
    format!("`{}`", short.replace('`', "'").replace('|', "\\|").replace(['\n', '\r'], " "))
}

fn escape(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, Warning};

    fn comparison(arm: &str, effect: f64, verdict: Decision) -> Comparison {
        Comparison {
            arm: arm.into(),
            against: "old".into(),
            is_control: false,
            verdict,
            effect: Some(effect),
            interval: [Some(effect - 0.004), None],
            e: Some(200.0),
            p: None,
            accepted: None,
            units: Vec::new(),
        }
    }

    fn arm(name: &str, median: f64) -> ArmReport {
        ArmReport {
            name: name.into(),
            median: Some(median),
            user: Some(0.9 * median),
            system: None,
            peak_memory: Some(12_340_000),
            samples: Vec::new(),
        }
    }

    #[test]
    fn a_comment_for_a_pull_request() {
        let outcome = Outcome {
            verdict: Decision::Worse,
            pairs: 34,
            sigma: Some(0.012),
            sigma_of: Some(crate::SigmaOf::Session { pairs: 20 }),
            resolvable: Some(0.007),
            rule: "anytime".into(),
            comparisons: vec![comparison("a|b `x`", 0.021, Decision::Worse)],
            arms: vec![arm("old", 0.020_04), arm("a|b `x`", 0.020_46)],
            warnings: vec![Warning::new("load 3.0 on 2 cores", "stop the other work")],
            ..Outcome::empty(&Settings::default())
        };
        insta::assert_snapshot!(outcome.markdown(), @r"
        **`a\|b 'x'` is slower than `old` by 2.10 % [+1.70 %, unbounded]**

        | arm | time | user | system | peak memory | against the first | interval | verdict |
        |---|--:|--:|--:|--:|--:|--:|---|
        | `old` | 20.0 ms | 18.0 ms | - | 12.3 MB | - | - | - |
        | `a\|b 'x'` | 20.5 ms | 18.4 ms | - | 12.3 MB | +2.10 % | +1.70 % .. unbounded | worse |

        34 pairs, anytime rule, error rate 1.00 %, noise 1.20 % a pair (from 20 pairs of A with itself), resolves 0.70 % in the budget
        - warning: load 3.0 on 2 cores: stop the other work
        ");
    }

    #[test]
    fn sentences() {
        let base = Outcome::empty(&Settings::default());
        let check = |outcome: &Outcome, expected: &str| assert_eq!(outcome.sentence(), expected);
        check(&base, "Nothing was compared");
        let one = Outcome {
            comparisons: vec![comparison("new", -0.25, Decision::Better)],
            verdict: Decision::Better,
            ..base.clone()
        };
        check(&one, "`new` is faster than `old` by 25.0 % [-25.4 %, unbounded]");
        check(&Outcome { discarded: Some("x".into()), ..one.clone() }, "No verdict, the run is discarded: x");
        let mut second = comparison("newer", 0.1, Decision::Worse);
        second.accepted = Some(true);
        let of_two = || vec![one.comparisons[0].clone(), comparison("new 2", 0.1, Decision::Undecided)];
        let pairs = Outcome {
            comparisons: of_two(),
            effect: Some(-0.1),
            interval: [Some(-0.2), None],
            verdict: Decision::Better,
            ..base.clone()
        };
        check(&pairs, "better over all: -10.0 % on geometric mean [-20.0 %, unbounded]; 1 better, 1 undecided");
        let many = Outcome { comparisons: vec![one.comparisons[0].clone(), second], ..base };
        check(&many, "1 of 2 arms differ from `old`: `newer`");
    }

    #[test]
    fn figures() {
        assert_eq!(seconds(1.5), "1.50 s");
        assert_eq!(seconds(0.020_04), "20.0 ms");
        assert_eq!((seconds(2.5e-7), seconds(0.0)), ("250 ns".into(), "0".into()));
        assert_eq!((age(4.2), age(600.0), age(7200.0)), ("4 s".into(), "10 min".into(), "2 h".into()));
        assert_eq!(age(864_000.0), "10 days");
        assert_eq!((signed(0.001), signed(-0.5)), ("+0.10 %".into(), "-50.0 %".into()));
    }
}
