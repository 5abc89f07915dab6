//! Drives a comparison: identical arms first, then coin-flipped rounds, the first arm again last.
//!
//! Knows no process, database or clock of its own: those belong to the [`Rig`]. Events go out between runs only.

use crate::environment::Warning;
use crate::outcome::{Control, Levels, Outcome, SigmaOf, Unit};
use crate::plan::{Pairs, Settings};
use crate::{CompareError, Event, Failure, interrupt};
use stats::{Clip, Design, Noise, Progress, Rule, Session, SplitMix, robust, smallest_effect};

mod floor;
mod rig;
mod summing;

pub use rig::{Group, Inside, Printed, Rig, Role, Sample};

/// An anytime run goes on until here, whatever it knows: with fewer units one wild pair leaves an end of the interval
/// almost unbounded.
const LEAST_UNITS: usize = 20;
/// Full units that an e-value needs to reach 100.
const LEAST_E_UNITS: usize = 13;
/// Runs of the first arm at the end.
const CONTROL_RUNS: usize = 10;
/// A first arm that moved by more than this makes the run void.
pub(crate) const MOST_DRIFT: f64 = 0.05;
/// Rounds between two looks at a first arm that has moved: clocks of shared machines wander by more than MOST_DRIFT and
/// back within a second or so.
const ROUNDS_BETWEEN_LOOKS: usize = 10;
/// Looks at most: what has not come back by then is another state.
const MOST_LOOKS: usize = 5;
/// Seconds between progress events.
const PROGRESS_EVERY: f64 = 0.25;

/// One arm against the first of its group.
struct Contest {
    base: usize,
    arm: usize,
    role: Role,
    session: Session,
    units: Vec<Unit>,
}

struct Engine<'a> {
    rig: &'a mut dyn Rig,
    groups: &'a [Group],
    settings: &'a Settings,
    on: &'a mut dyn FnMut(&Event),
    random: SplitMix,
    names: Vec<String>,
    started: f64,
    shown: f64,
    /// Seconds of each arm's first run.
    first: Vec<f64>,
    samples: Vec<Vec<Sample>>,
    noise: Vec<f64>,
    before: Vec<f64>,
    repeats: usize,
    unit_seconds: f64,
    planned: usize,
    /// Whether the planned end of the counted rounds has come.
    spent: bool,
    sigma: Option<Noise>,
    sigma_of: Option<SigmaOf>,
    contests: Vec<Contest>,
    control: Option<Control>,
    levels: Option<Levels>,
    warnings: Vec<Warning>,
    notes: Vec<String>,
}

/// Runs a whole comparison on a rig.
///
/// # Errors
/// When a run fails; what was measured until then is kept in the failure.
pub fn drive(
    rig: &mut dyn Rig,
    groups: &[Group],
    settings: &Settings,
    on: &mut dyn FnMut(&Event),
) -> Result<Outcome, Failure> {
    settings.check()?;
    assert!(groups.iter().any(|group| group.role == Role::Main) && groups.iter().all(|group| group.arms.len() >= 2));
    let names = told_apart(&rig.names());
    let started = rig.now();
    let mut engine = Engine {
        samples: vec![Vec::new(); names.len()],
        first: vec![0.0; names.len()],
        random: SplitMix::new(settings.seed),
        repeats: 1,
        names,
        started,
        shown: started,
        rig,
        groups,
        settings,
        on,
        noise: Vec::new(),
        before: Vec::new(),
        unit_seconds: 0.0,
        planned: 0,
        spent: false,
        sigma: None,
        sigma_of: None,
        contests: Vec::new(),
        control: None,
        levels: None,
        warnings: Vec::new(),
        notes: Vec::new(),
    };
    match engine.phases() {
        Ok(()) => Ok(engine.outcome(None)),
        Err(error) => {
            let kept = engine.samples.iter().any(|runs| !runs.is_empty()) || !engine.noise.is_empty();
            let kept = kept.then(|| Box::new(engine.outcome(Some(error.to_string()))));
            Err(Failure { error, kept })
        }
    }
}

/// Arms of the same name get a number, so that reports can tell them apart.
fn told_apart(names: &[String]) -> Vec<String> {
    let numbered = |(i, name): (usize, &String)| {
        let before = names[..i].iter().filter(|other| *other == name).count();
        if before == 0 { name.clone() } else { format!("{name} ({})", before + 1) }
    };
    names.iter().enumerate().map(numbered).collect()
}

impl Engine<'_> {
    fn phases(&mut self) -> Result<(), CompareError> {
        self.first_runs()?;
        self.identical_arms()?;
        let mut rounds = self.rounds(0, 0)?;
        self.first_arm_again()?;
        // The test is valid at whatever unit it stops, so a run that is answered early may go on until the machine is
        // again as it was.
        for _ in 1..MOST_LOOKS {
            if !self.has_drifted() {
                break;
            }
            let before = rounds;
            rounds = self.rounds(rounds, ROUNDS_BETWEEN_LOOKS)?;
            if rounds == before {
                break;
            }
            self.first_arm_again()?;
        }
        if self.spent {
            self.contests.iter_mut().for_each(|contest| contest.session.spend());
        }
        Ok(())
    }

    fn elapsed(&self) -> f64 {
        self.rig.now() - self.started
    }

    fn main_group(&self) -> &Group {
        self.groups.iter().find(|group| group.role == Role::Main).expect("checked at the start")
    }

    fn first_arm(&self) -> usize {
        self.main_group().arms[0]
    }

    /// Every arm once, uncounted: fails early, levels the page cache, shows different outputs.
    fn first_runs(&mut self) -> Result<(), CompareError> {
        for group in self.groups {
            let mut printed: Option<Printed> = None;
            for arm in &group.arms {
                self.rig.open(&[*arm])?;
                let sample = self.timed(0, *arm)?;
                self.first[*arm] = sample.wall;
                if let (Some(expected), Some(found)) = (&printed, &sample.output) {
                    self.same_output(group.arms[0], *arm, expected, found)?;
                }
                printed = printed.or(sample.output);
            }
        }
        Ok(())
    }

    fn same_output(&self, a: usize, b: usize, expected: &Printed, found: &Printed) -> Result<(), CompareError> {
        if expected == found {
            return Ok(());
        }
        let detail = if expected.length == found.length {
            format!("{} bytes each, but not the same", found.length)
        } else {
            format!("{} and {} bytes", expected.length, found.length)
        };
        Err(CompareError::OutputsDiffer { a: self.names[a].clone(), b: self.names[b].clone(), detail })
    }

    /// A run whose time is above 0.
    fn timed(&mut self, side: usize, arm: usize) -> Result<Sample, CompareError> {
        if interrupt::asked() {
            return Err(CompareError::Interrupted);
        }
        let sample = self.rig.run(side)?;
        if sample.time(self.settings.metric) > 0.0 {
            Ok(sample)
        } else {
            Err(CompareError::ZeroTime(self.names[arm].clone()))
        }
    }

    /// One unit: repeats of all sides, each repeat in a fresh random order. Gives side by side the logarithms of the
    /// times, repeat by repeat.
    fn unit(&mut self, sides: &[usize], keep: bool) -> Result<Vec<Vec<f64>>, CompareError> {
        self.rig.open(sides)?;
        let mut order: Vec<usize> = (0..sides.len()).collect();
        let mut logarithms = vec![Vec::with_capacity(self.repeats); sides.len()];
        for _ in 0..self.repeats {
            self.random.shuffle(&mut order);
            let mut outputs: Vec<Option<Printed>> = vec![None; sides.len()];
            for side in &order {
                let sample = self.timed(*side, sides[*side])?;
                logarithms[*side].push(sample.time(self.settings.metric).ln());
                outputs[*side].clone_from(&sample.output);
                if keep {
                    self.samples[sides[*side]].push(sample);
                }
            }
            for (side, found) in outputs.iter().enumerate().skip(1) {
                if let (Some(expected), Some(found)) = (&outputs[0], found) {
                    self.same_output(sides[0], sides[side], expected, found)?;
                }
            }
        }
        Ok(logarithms)
    }

    /// Seconds of one round of all groups, from the identical arms and each arm's first run.
    fn round_seconds(&self) -> f64 {
        let one = self.first[self.first_arm()].max(1e-9);
        let all: f64 = self.groups.iter().flat_map(|group| &group.arms).map(|arm| self.first[*arm] / one).sum();
        self.unit_seconds / 2.0 * all
    }

    fn reserve(&self) -> f64 {
        self.unit_seconds / 2.0 / self.repeats as f64 * CONTROL_RUNS as f64
    }

    fn design(&mut self) {
        let left = self.settings.budget - self.elapsed() - self.reserve();
        let fits = (left / self.round_seconds()).max(1.0) as usize;
        let (rule, max) = match self.settings.pairs {
            Pairs::Anytime { max } => (Rule::Anytime, max.min(fits)),
            Pairs::Fixed(n) => (Rule::Fixed, n),
        };
        self.planned = max;
        let clip = match (self.sigma_of, self.sigma) {
            (Some(SigmaOf::Day { .. }), Some(noise)) => Clip::of_sigma(noise.sigma),
            _ => Clip::of_burn_in(&self.noise),
        };
        let design = Design {
            rule,
            min_units: LEAST_UNITS.min(max),
            question: self.settings.question,
            seed: self.settings.seed,
            // e-BH needs e-values alone.
            last_look: if self.is_many() { 0.0 } else { stats::LAST_LOOK },
            ..Design::budgeted(self.settings.alpha, self.settings.margin, clip, max.max(1))
        };
        let contest = |group: &Group| {
            let (base, role) = (group.arms[0], group.role);
            let session =
                Session::new(if role == Role::Main { design } else { Design { rule: Rule::Anytime, ..design } });
            let make =
                move |arm: &usize| Contest { base, arm: *arm, role, session: session.clone(), units: Vec::new() };
            group.arms[1..].iter().map(make).collect::<Vec<_>>()
        };
        self.contests = self.groups.iter().flat_map(contest).collect();
        let sigma = self.sigma.map_or(f64::NAN, |noise| noise.sigma);
        (self.on)(&Event::NoiseMeasured { sigma, resolvable: smallest_effect(sigma, max), units: max });
        self.warn_about_design(&design, fits);
    }

    fn warn_about_design(&mut self, design: &Design, fits: usize) {
        let minute = |units: f64| format!("allow {:.0} s with --budget", (units * self.round_seconds()).ceil());
        let least = if self.is_many() { LEAST_E_UNITS } else { design.least_units() };
        if design.rule == Rule::Anytime && fits < least {
            let what = format!("the budget allows only {fits} pairs; fewer than {least} cannot decide");
            self.warnings.push(Warning::new(what, minute(40.0)));
        }
        if stats::sign_flip_p(&self.noise, f64::INFINITY, self.settings.seed) <= 0.001 {
            self.warnings.push(Warning::new(
                "identical arms were told apart (p below 0.1 %)",
                "do not trust small differences here; look for something that alternates with the runs",
            ));
        }
    }

    /// Rounds from the one numbered `first` on, at least so many if the budget holds them, until the question is
    /// answered; how many there were since the start.
    fn rounds(&mut self, first: usize, least: usize) -> Result<usize, CompareError> {
        let groups = self.groups;
        let many = self.main_group().arms.len() > 2;
        let mut order: Vec<usize> = (0..groups.len()).collect();
        let mut done = first;
        while done < self.planned {
            // A fixed n was asked for by the user: the budget does not cut it short until it is spent twice.
            let allowed = match self.settings.pairs {
                Pairs::Anytime { .. } => self.settings.budget - self.reserve(),
                Pairs::Fixed(_) => 2.0 * self.settings.budget,
            };
            if done > 0 && self.elapsed() + self.elapsed_per_round(done) > allowed {
                break;
            }
            self.random.shuffle(&mut order);
            let mut stop = false;
            for group in &order {
                stop |= self.round_of(&groups[*group])?;
            }
            done += 1;
            self.progress(done);
            if stop && !many && done >= first + least && done < self.planned {
                return Ok(done);
            }
        }
        self.spent = true;
        Ok(done)
    }

    fn elapsed_per_round(&self, rounds: usize) -> f64 {
        let first = self.contests.first().and_then(|contest| contest.units.first()).map_or(0.0, |unit| unit.at);
        if rounds < 2 { self.round_seconds() } else { (self.elapsed() - first) / (rounds as f64 - 1.0) }
    }

    /// One unit of a group; whether the question is answered.
    fn round_of(&mut self, group: &Group) -> Result<bool, CompareError> {
        let logarithms = self.unit(&group.arms, true)?;
        let at = self.elapsed();
        let mut stop = false;
        for (side, arm) in group.arms.iter().enumerate().skip(1) {
            let differences: Vec<f64> = logarithms[side].iter().zip(&logarithms[0]).map(|(b, a)| b - a).collect();
            let ln = robust::median(&differences);
            let same = |contest: &&mut Contest| contest.arm == *arm && contest.base == group.arms[0];
            let contest = self.contests.iter_mut().find(same).expect("every pair has its contest");
            contest.units.push(Unit { at, ln });
            let answered = matches!(contest.session.push(ln), Progress::Stop(_));
            stop |= answered && group.role == Role::Main;
        }
        Ok(stop)
    }

    fn progress(&mut self, units: usize) {
        let now = self.rig.now();
        if now - self.shown < PROGRESS_EVERY {
            return;
        }
        self.shown = now;
        let Some(contest) = self.contests.iter().find(|contest| contest.role == Role::Main) else { return };
        let effect = stats::hodges_lehmann(contest.session.units()).exp_m1();
        let e = (contest.session.design().rule == Rule::Anytime).then(|| contest.session.e().min(f64::MAX));
        (self.on)(&Event::Progress { units, of: self.planned, elapsed: now - self.started, effect, e });
    }

    fn first_arm_again(&mut self) -> Result<(), CompareError> {
        (self.on)(&Event::ControlStarted);
        let first = self.first_arm();
        self.rig.open(&[first])?;
        let mut after = Vec::new();
        for _ in 0..CONTROL_RUNS {
            after.push(self.timed(0, first)?.time(self.settings.metric));
        }
        let drift = (robust::median(&after) / robust::median(&self.before)).ln();
        let looks = self.control.as_ref().map_or(1, |control| control.looks + 1);
        self.control = Some(Control { before: self.before.clone(), after, drift, looks });
        Ok(())
    }

    fn has_drifted(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.drift.exp_m1().abs() > MOST_DRIFT)
    }
}

#[cfg(test)]
mod tests;
