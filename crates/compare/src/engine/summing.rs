//! From the engine's record to an outcome: verdicts, what voids them, what weakens them. Runs nothing.

use super::{Contest, Engine, MOST_DRIFT, Role};
use crate::environment::Warning;
use crate::outcome::{ArmReport, Comparison, Control, Outcome, effect_of, effects_of};
use stats::{Decision, Rule, e_bh, robust, smallest_effect};

/// Of ln(median after / median before): a median's error is 1.2533 sigma / sqrt(n).
fn standard_error(control: &Control) -> f64 {
    let logarithms: Vec<f64> = control.before.iter().map(|seconds| seconds.ln()).collect();
    let (before, after) = (control.before.len() as f64, control.after.len() as f64);
    1.2533 * robust::mad_sigma(&logarithms) * (1.0 / before + 1.0 / after).sqrt()
}

impl Engine<'_> {
    pub(super) fn outcome(&mut self, aborted: Option<String>) -> Outcome {
        let mut comparisons = self.comparisons();
        let discarded = self.discarded();
        let short = self.fixed_run_cut_short();
        let control_moved = self.control_moved(&comparisons);
        if aborted.is_some() || discarded.is_some() || short || control_moved {
            comparisons
                .iter_mut()
                .filter(|found| !found.is_control)
                .for_each(|found| found.verdict = Decision::Undecided);
        }
        self.warn_about_small_effects(&comparisons);
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.rig.warnings());
        let main = comparisons.iter().find(|found| !found.is_control);
        let contest = self.contests.iter().find(|contest| contest.role == Role::Main);
        Outcome {
            verdict: main.map_or(Decision::Undecided, |found| found.verdict),
            effect: main.and_then(|found| found.effect),
            interval: main.map_or([None, None], |found| found.interval),
            pairs: main.map_or(0, |found| found.units.len()),
            resolvable: self.resolvable(),
            sigma: self.sigma.map(|noise| noise.sigma),
            sigma_of: self.sigma_of,
            notes: std::mem::take(&mut self.notes),
            rule: self.rule().to_owned(),
            arms: self.arms(),
            noise: self.noise.clone(),
            control: self.control.clone(),
            levels: self.levels.clone(),
            design: contest.map(|contest| *contest.session.design()),
            elapsed: self.elapsed(),
            comparisons,
            discarded,
            warnings,
            aborted,
            ..Outcome::empty(self.settings)
        }
    }

    pub(super) fn is_many(&self) -> bool {
        self.main_group().arms.len() > 2
    }

    fn rule(&self) -> &'static str {
        match self.settings.pairs {
            _ if self.is_many() => "e-bh",
            crate::Pairs::Anytime { .. } => "anytime",
            crate::Pairs::Fixed(_) => "fixed",
        }
    }

    fn resolvable(&self) -> Option<f64> {
        let noise = self.sigma?;
        Some(smallest_effect(noise.sigma, self.planned.max(1))).filter(|effect| effect.is_finite())
    }

    fn comparisons(&self) -> Vec<Comparison> {
        let measured = |contest: &&Contest| !contest.units.is_empty();
        let mut found: Vec<Comparison> =
            self.contests.iter().filter(measured).map(|contest| self.comparison(contest)).collect();
        if self.is_many() {
            self.choose_among(&mut found);
        }
        found
    }

    fn comparison(&self, contest: &Contest) -> Comparison {
        let summary = contest.session.summary();
        Comparison {
            arm: self.names[contest.arm].clone(),
            against: self.names[contest.base].clone(),
            is_control: contest.role == Role::Control,
            verdict: summary.decision,
            effect: effect_of(summary.estimate.value),
            interval: effects_of(summary.estimate.interval()),
            // JSON has no infinity.
            e: summary.e.map(|e| e.min(f64::MAX)),
            p: summary.p,
            accepted: None,
            units: contest.units.clone(),
        }
    }

    /// Many arms: e-BH over e-values that nobody stopped; the accepted get intervals at their share of alpha.
    fn choose_among(&self, found: &mut [Comparison]) {
        let main: Vec<&Contest> =
            self.contests.iter().filter(|contest| contest.role == Role::Main && !contest.units.is_empty()).collect();
        let e_values: Vec<f64> = main.iter().map(|contest| contest.session.e()).collect();
        let accepted = e_bh(&e_values, self.settings.alpha);
        let level = self.settings.alpha * accepted.len().max(1) as f64 / main.len().max(1) as f64;
        let of_main = found.iter_mut().filter(|comparison| !comparison.is_control);
        for (i, (comparison, contest)) in of_main.zip(&main).enumerate() {
            let interval = contest.session.interval_at(level);
            let decision = Decision::of(interval, self.settings.margin);
            let told = accepted.contains(&i);
            comparison.e = Some(e_values[i].min(f64::MAX));
            comparison.p = None;
            comparison.interval = effects_of(interval);
            comparison.accepted = Some(told);
            comparison.verdict = if told || decision == Decision::Equivalent { decision } else { Decision::Undecided };
        }
    }

    /// A drift beyond what is allowed voids the run. When the control's own few runs could show it by chance, a
    /// warning says so: more work a run then helps more than a quieter machine.
    fn discarded(&mut self) -> Option<String> {
        let control = self.control.as_ref()?;
        let (drift, by_chance) = (control.drift.exp_m1(), (3.0 * standard_error(control)).exp_m1());
        if !self.has_drifted() {
            return None;
        }
        if drift.abs() <= by_chance {
            let what = format!("the drift of {:+.1} % is within 3 standard errors of its runs", 100.0 * drift);
            self.warnings.push(Warning::new(what, "give each run more work, or repeat it on a quieter machine"));
        }
        let shown = format!("the first arm, measured again last, had drifted by {:+.1} %", 100.0 * drift);
        Some(format!("{shown} (more than {:.0} %); repeat it on a quieter machine", 100.0 * MOST_DRIFT))
    }

    /// A fixed n is looked at once, at its end, or not at all.
    fn fixed_run_cut_short(&mut self) -> bool {
        let Some(contest) = self.contests.iter().find(|contest| contest.role == Role::Main) else { return false };
        let (n, planned) = (contest.units.len(), self.planned);
        let short = contest.session.design().rule == Rule::Fixed && !self.is_many() && n < planned;
        if short {
            self.warnings.push(Warning::new(
                format!("only {n} of the {planned} pairs fitted, so there is no verdict"),
                "raise --budget, or leave --pairs away",
            ));
        }
        short
    }

    /// A control that differs shows that something besides the change differs.
    fn control_moved(&mut self, comparisons: &[Comparison]) -> bool {
        let told =
            |found: &&Comparison| found.is_control && matches!(found.verdict, Decision::Better | Decision::Worse);
        let moved: Vec<String> = comparisons.iter().filter(told).map(|found| found.arm.clone()).collect();
        for name in &moved {
            self.warnings.push(Warning::new(
                format!("the control `{name}` differs too, so the change is not the only difference"),
                "look for layout, build flags or caches that differ; no verdict is given",
            ));
        }
        !moved.is_empty()
    }

    fn warn_about_small_effects(&mut self, comparisons: &[Comparison]) {
        let Some(resolvable) = self.resolvable() else { return };
        for found in comparisons {
            let told = matches!(found.verdict, Decision::Better | Decision::Worse);
            let Some(effect) = found.effect.filter(|effect| told && effect.abs() < resolvable) else { continue };
            let times = (resolvable / effect.abs()).powi(2).min(1000.0);
            self.warnings.push(Warning::new(
                format!(
                    "the effect ({:+.2} %) is smaller than what this budget resolves in 9 of 10 runs ({:.2} %)",
                    100.0 * effect,
                    100.0 * resolvable
                ),
                format!("repeat with --budget {:.0}s before acting on it", (times * self.settings.budget).ceil()),
            ));
        }
    }

    fn arms(&self) -> Vec<ArmReport> {
        let report = |(name, samples): (&String, &Vec<super::Sample>)| {
            let median = |times: Vec<f64>| (!times.is_empty()).then(|| robust::median(&times));
            ArmReport {
                name: name.clone(),
                median: median(samples.iter().map(|sample| sample.time(self.settings.metric)).collect()),
                user: median(samples.iter().filter_map(|sample| sample.user).collect()),
                system: median(samples.iter().filter_map(|sample| sample.system).collect()),
                peak_memory: samples.iter().filter_map(|sample| sample.peak_memory).max(),
                samples: samples.clone(),
            }
        };
        self.names.iter().zip(&self.samples).map(report).collect()
    }
}
