//! Notices for people: one aligned line a result on standard output, a progress bar on standard error.
//!
//! Must not draw while a clock runs: the bar moves only when a judgement is in, and there is no ticker. Legible without
//! colour, in a pipe too.

use crate::duration::show;
use crate::notice::{Expected, Listener, Notice, Origin, Phase, Spent};
use crate::progress::Progress;
use crate::text::{self, line, percent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use judge::message::Opened;
use model::{Certificate, Event, Judgement, Map, Seconds, Selftest, Verdict};
use std::io::Write;

/// Steps of the bar; finer than any terminal is wide.
const STEPS: u64 = 1000;

/// Renders for people.
pub struct Terminal<W> {
    out: W,
    bar: Option<ProgressBar>,
    phase: Option<Phase>,
}

impl<W: Write + Send> Terminal<W> {
    /// Writes results to `out`.
    pub fn new(out: W) -> Self {
        Self { out, bar: None, phase: None }
    }

    fn say(&mut self, text: &str) {
        let out = &mut self.out;
        // A reader that went away is no reason to stop measuring.
        let mut write = || {
            let _ = writeln!(out, "{text}").and_then(|()| out.flush());
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn begin(&mut self, phase: Phase, expected: Option<Expected>) {
        self.clear();
        self.phase = Some(phase);
        let words = match expected {
            Some(Expected::AtMost(time)) => format!("{}, {} at most", words(phase), show(time)),
            Some(Expected::About(time)) => format!("{}, about {}", words(phase), show(time)),
            None => words(phase).to_owned(),
        };
        self.say(&line(name(phase), &words));
        if phase == Phase::Search {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("            {bar:24} {msg}") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn recorded(&mut self, event: &Event, progress: &Progress, spent: &Spent) {
        match event {
            Event::NoiseMeasured { judgement } => self.say(&line("", &noise(judgement))),
            Event::JudgeChecked { broken, slowed, selftest, .. } => {
                self.say(&line("", &canaries(broken, slowed)));
                self.say(&line("", &self::selftest(selftest.as_ref())));
            }
            Event::Compared { name, judgement } => self.say(&line("", &compared(name, judgement))),
            Event::Promoted { id, .. } => {
                let note = progress.best.as_ref().filter(|best| best.id == id.0).map_or("", |best| best.note.as_str());
                self.say(&line("", &format!("{}  ({note})", progress.words())));
            }
            Event::Ablated { hunk, judgement } => self.say(&line("", &ablated(hunk, judgement))),
            Event::Verified { certificate, .. } => self.certificate(certificate),
            Event::SearchEnded { why } => {
                self.clear();
                self.say(&line("", &format!("{}: {}", why, report::terminal::yield_line(&progress.outcomes))));
            }
            _ => {}
        }
        if let Some(bar) = &self.bar {
            bar.set_position((spent.share().unwrap_or(0.0) * STEPS as f64) as u64);
            bar.set_message(self::bar(progress, spent));
            bar.tick();
        }
    }

    fn certificate(&mut self, certificate: &Certificate) {
        for rung in &certificate.rungs {
            self.say(&line("", &text::rung(rung)));
        }
    }

    fn machine(&mut self, map: &Map, origin: Origin) {
        let origin = match origin {
            Origin::Measured => "measured just now",
            Origin::Stored => "map from the ledger, the machine has not changed",
        };
        self.say(&line("machine", &format!("{} ({origin})", text::machine(&map.fingerprint))));
        for ceiling in text::ceilings(map) {
            self.say(&line("", &ceiling));
        }
        for missing in &map.missing {
            self.say(&line("", &format!("not measured: {missing}")));
        }
    }

    fn opened(&mut self, opened: &Opened) {
        let shapes: Vec<&str> = opened.workloads.iter().map(|workload| workload.name.as_str()).collect();
        let sandbox = if opened.sandbox.is_empty() { "none".to_owned() } else { opened.sandbox.join(", ") };
        self.say(&line("", &format!("workloads {}", shapes.join(", "))));
        self.say(&line("", &format!("sandbox   {sandbox}")));
        for warning in &opened.warnings {
            self.say(&line("warning", warning));
        }
    }
}

impl<W: Write + Send> Listener for Terminal<W> {
    fn hear(&mut self, notice: &Notice<'_>) {
        match *notice {
            Notice::Began { problem, campaign, seed, entries } => {
                let resumed = if entries > 0 { format!(", resumed after {entries} entries") } else { String::new() };
                self.say(&line("campaign", &format!("{campaign}, {problem}, seed {seed}{resumed}")));
            }
            Notice::Chosen { why } => {
                for (i, text) in why.lines().enumerate() {
                    self.say(&line(if i == 0 { "target" } else { "" }, text));
                }
            }
            Notice::Phase { phase, expected } => self.begin(phase, expected),
            Notice::Machine { map, origin } => self.machine(map, origin),
            Notice::Opened { opened } => self.opened(opened),
            Notice::Recorded { event, progress, spent } => self.recorded(event, progress, &spent),
            Notice::Working { text } => {
                if self.phase != Some(Phase::Search) {
                    self.say(&line("", text));
                }
            }
            Notice::Asking { respondent, bytes, thinking, waiting } => {
                // Nothing is timed while someone is asked.
                if let Some(bar) = &self.bar {
                    bar.set_message(asking(respondent, [bytes, thinking], waiting));
                    bar.tick();
                }
            }
            Notice::Heard { respondent, what } => self.say(&line("asked", &format!("{respondent}: {what}"))),
            Notice::Finished { summary, report } => {
                self.clear();
                self.say(&format!("\n{}\n\n{}", summary.trim_end(), report.display()));
            }
        }
    }
}

/// For commands whose one result is printed at the end: says on standard error what takes time, and warnings.
pub struct Quiet;

impl Listener for Quiet {
    fn hear(&mut self, notice: &Notice<'_>) {
        match *notice {
            Notice::Phase { phase, expected: Some(Expected::About(time)) } => {
                eprintln!("{}", line(name(phase), &format!("{}, about {}", words(phase), show(time))));
            }
            Notice::Working { text } => eprintln!("{}", line("", text)),
            Notice::Opened { opened } => opened.warnings.iter().for_each(|text| eprintln!("{}", line("warning", text))),
            _ => {}
        }
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Map => "map",
        Phase::Open => "judge",
        Phase::Noise => "noise",
        Phase::Canaries => "canaries",
        Phase::Baselines => "score",
        Phase::Search => "search",
        Phase::Compare => "compare",
        Phase::Mine => "mine",
        Phase::Verify => "verify",
        Phase::Report => "report",
    }
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Map => "measuring what this machine sustains",
        Phase::Open => "starting the judge, building the oracle",
        Phase::Noise => "the same code against itself",
        Phase::Canaries => "a broken twin of the baseline and a slowed one: does this judge notice?",
        Phase::Baselines => "the baselines against the ceilings, in the same run",
        Phase::Search => "looking for faster code",
        Phase::Compare => "the winner against the baselines and the ceilings, fresh measurements",
        Phase::Mine => "the winner without each of its changes",
        Phase::Verify => "climbing the ladder in a fresh judge",
        Phase::Report => "writing the page",
    }
}

/// What two equal arms showed. The interval would only repeat the wildest pair; sigma is what later pairs will have.
fn noise(judgement: &Judgement) -> String {
    let seen = match judgement.verdict {
        Verdict::Better | Verdict::Worse => "told apart, so small differences are not to be trusted here",
        Verdict::Equivalent | Verdict::Undecided => "no difference seen",
        // Nothing was measured, so nothing is said of noise.
        _ => return judgement.verdict.to_string(),
    };
    let sigma = judgement.shapes.iter().map(|shape| stats::robust::mad_sigma(&shape.units)).fold(f64::NAN, f64::max);
    let pairs: usize = judgement.shapes.iter().map(|shape| shape.units.len()).sum();
    format!("{seen} in {pairs} process pairs; sigma of a pair {}", percent(sigma))
}

fn canaries(broken: &Judgement, slowed: &Judgement) -> String {
    let effect = slowed.shapes.first().and_then(text::effect).unwrap_or_default();
    let broken = broken.verdict.to_string();
    let broken = broken.split(':').next().unwrap_or_default();
    format!("broken twin {broken}, slowed twin {} {effect}", slowed.verdict.name()).trim_end().to_owned()
}

/// Which selftest the judge has passed here, in words.
pub fn selftest(passed: Option<&Selftest>) -> String {
    match passed {
        Some(Selftest { zoo, rows, whole, .. }) => {
            let extent = if *whole { "whole" } else { "quick" };
            format!("selftest  passed on this machine: zoo {}, {extent}, {rows} rows", zoo.short())
        }
        None => "selftest  none has passed on this machine: `rooflab judge selftest` takes under 20 s".to_owned(),
    }
}

fn compared(name: &str, judgement: &Judgement) -> String {
    let show = if name.ends_with("/ceiling") { text::fraction } else { text::effect };
    let shapes: Vec<String> = judgement.shapes.iter().filter_map(show).collect();
    let shapes = if shapes.is_empty() { judgement.verdict.to_string() } else { shapes.join("   ") };
    format!("{name:<20} {shapes}")
}

fn ablated(hunk: &str, judgement: &Judgement) -> String {
    use model::Stage;
    use model::Verdict::{Better, Failed, Worse};
    let cost = |speedup: f64| match speedup.recip() {
        // 899 % says less than 10x.
        times if times >= 2.0 => format!("{times:.1}x "),
        times => format!("{} ", percent(times - 1.0)),
    };
    let cost = judgement.speedup().map_or(String::new(), cost);
    let says = match judgement.verdict {
        Worse => format!("{cost}slower without: it pays"),
        Better => format!("{cost}without: it costs"),
        ref other if other.is_measured() => format!("without: {}", other.name()),
        Failed { stage: Stage::Propose, ref cause } => return format!("{hunk}: {cause}"),
        _ => "does not work without".to_owned(),
    };
    format!("{says:<32} {hunk}")
}

fn asking(respondent: &str, [bytes, thinking]: [usize; 2], waiting: Option<Seconds>) -> String {
    match waiting {
        Some(left) => format!("{respondent} is busy, again in {}", show(left)),
        None if bytes == 0 && thinking > 0 => format!("{respondent} thinks, {thinking} bytes"),
        None => format!("{respondent} writes, {bytes} bytes"),
    }
}

fn bar(progress: &Progress, spent: &Spent) -> String {
    let left = spent.left().map_or(String::new(), |left| format!(", {} left", show(left)));
    format!("{} judged, best {}{left}", progress.outcomes.attempted, progress.words())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use search::Campaign;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_start_that_fails_says_nothing_of_noise() {
        let failed = Verdict::Failed { stage: model::Stage::Build, cause: "no".into() };
        assert_eq!(noise(&sample::judgement(failed.clone(), &[])), failed.to_string());
    }

    #[test]
    fn a_campaign_reads_well() {
        let page = Page::default();
        let mut terminal = Terminal::new(page.clone());
        let spent = Spent { time: Seconds(0.0), candidates: 0, budget: Some(Seconds(60.0)), max_candidates: None };
        let mut campaign = Campaign::default();
        terminal.hear(&Notice::Began { problem: "norm", campaign: "norm-1", seed: 1, entries: 0 });
        for event in sample::campaign() {
            campaign.apply(&event);
            terminal.hear(&Notice::Recorded { event: &event, progress: &Progress::of(&campaign), spent });
        }
        terminal.hear(&Notice::Phase { phase: Phase::Verify, expected: Some(Expected::About(Seconds(100.0))) });
        let certificate = Box::new(sample::certificate(&sample::source("int winner;"), 1));
        let event = Event::Verified { id: model::CandidateId(2), certificate };
        terminal.hear(&Notice::Recorded { event: &event, progress: &Progress::of(&campaign), spent });
        let report = std::path::Path::new("out/norm-1/report.html");
        terminal.hear(&Notice::Finished { summary: "The winner is fast.\n", report });
        let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        insta::assert_snapshot!(text, @r"
        campaign    norm-1, norm, seed 1
                    no difference seen in 8 process pairs; sigma of a pair 0.00 %
                    naive/ceiling        len=128 5.0 % [4.9, 5.1]   len=1024 5.0 % [4.9, 5.1]
                    start/stock          len=128 0.37x [0.36, 0.38]   len=1024 0.37x [0.36, 0.38]
                    #2: 1.65x the starting point, 0.61x stock  (made int winner;)
                    budget spent: attempted 2 / invalid 0 / cheated 0 / noise 0 / loss 1 / win 1
                    winner/naive         len=128 1.65x [1.62, 1.68]   len=1024 1.65x [1.62, 1.68]
                    winner/stock         len=128 0.61x [0.59, 0.62]   len=1024 0.61x [0.59, 0.62]
        verify      climbing the ladder in a fresh judge, about 1 min 40 s
                    passed    1  builds: two builds are equal

        The winner is fast.

        out/norm-1/report.html
        ");
    }
}
