//! The rules against clocks that misbehave as real machines do: drift, heavy tails, autocorrelation, plateaus.
//!
//! Acceptance counts are themselves tests with odds (Clopper and Pearson): each limit below fails a right
//! implementation less than once in a thousand runs, and the seeds are fixed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::{Clip, Decision, Design, Progress, Session, binomial_tail, clopper_pearson};
use std::f64::consts::TAU;

const WINDOWS: usize = 200;
const BURN_IN: usize = 20;

/// ln time of the next run on an idle part of a noisy machine.
struct Machine {
    random: ChaCha8Rng,
    kind: Kind,
    state: f64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Independent normal noise.
    Calm,
    /// A random walk.
    Drift,
    /// Cauchy-like: no mean exists.
    HeavyTails,
    /// AR(1) at 0.95.
    Autocorrelated,
    /// Two clock plateaus 12 % apart, changed every 50 runs on average.
    Plateaus,
}

const KINDS: [Kind; 5] = [Kind::Calm, Kind::Drift, Kind::HeavyTails, Kind::Autocorrelated, Kind::Plateaus];

impl Machine {
    fn normal(&mut self) -> f64 {
        // Box and Muller.
        let (radius, turn): (f64, f64) = (self.random.random_range(1e-12..1.0), self.random.random());
        (-2.0 * radius.ln()).sqrt() * (TAU * turn).cos()
    }

    fn run(&mut self, ln_work: f64) -> f64 {
        let noise = 0.005 * self.normal();
        let extra = match self.kind {
            Kind::Calm => 0.0,
            Kind::Drift => {
                self.state += 0.002 * self.normal();
                self.state
            }
            Kind::HeavyTails => 0.002 * self.normal() / self.normal().abs().max(1e-3),
            Kind::Autocorrelated => {
                self.state = 0.95 * self.state + 0.004 * self.normal();
                self.state
            }
            Kind::Plateaus => {
                if self.random.random_bool(0.02) {
                    self.state = 0.12 - self.state;
                }
                self.state
            }
        };
        ln_work + noise + extra
    }

    /// One unit: the coin decides who runs first.
    fn pair(&mut self, effect: f64) -> f64 {
        if self.random.random_bool(0.5) {
            let a = self.run(0.0);
            self.run(effect) - a
        } else {
            let b = self.run(effect);
            b - self.run(0.0)
        }
    }
}

/// Decisions of each window.
fn windows(kind: Kind, effect: f64, design: impl Fn(Clip) -> Design) -> Vec<Decision> {
    (0..WINDOWS)
        .map(|window| {
            let mut machine = Machine { random: ChaCha8Rng::seed_from_u64(window as u64), kind, state: 0.0 };
            let burn_in: Vec<f64> = (0..BURN_IN).map(|_| machine.pair(effect)).collect();
            let mut session = Session::new(design(Clip::of_burn_in(&burn_in)));
            loop {
                if let Progress::Stop(summary) = session.push(machine.pair(effect)) {
                    return summary.decision;
                }
            }
        })
        .collect()
}

fn count(decisions: &[Decision], wanted: &[Decision]) -> usize {
    decisions.iter().filter(|decision| wanted.contains(decision)).count()
}

fn anytime(clip: Clip) -> Design {
    Design::anytime(0.01, 0.0, clip, 300)
}

fn budgeted(clip: Clip) -> Design {
    Design::budgeted(0.01, 0.0, clip, 60)
}

fn fixed(clip: Clip) -> Design {
    Design::fixed(0.01, 0.0, clip, 10)
}

fn fixed_long(clip: Clip) -> Design {
    Design::fixed(0.01, 0.0, clip, 60)
}

/// At a true 1 % more than 7 of 200 come once in 1,000 runs.
const MOST_FALSE: usize = 7;

#[test]
fn the_limit_has_the_odds_it_claims() {
    assert!(binomial_tail(MOST_FALSE, WINDOWS, 0.01) < 1.2e-3);
}

#[test]
fn identical_arms_are_rarely_told_apart() {
    for kind in KINDS {
        for (name, design) in [("anytime", anytime as fn(Clip) -> Design), ("budgeted", budgeted), ("fixed", fixed)] {
            let found = count(&windows(kind, 0.0, design), &[Decision::Better, Decision::Worse]);
            let rate = clopper_pearson(found, WINDOWS, 0.01);
            assert!(found <= MOST_FALSE, "{kind:?}, {name}: {found} of {WINDOWS}, rate in {rate:?}");
        }
    }
}

#[test]
fn a_two_percent_effect_is_found_with_its_sign() {
    for kind in KINDS {
        for (effect, right, wrong) in
            [(0.02, Decision::Worse, Decision::Better), (-0.02, Decision::Better, Decision::Worse)]
        {
            let found = windows(kind, effect, anytime);
            assert!(count(&found, &[right]) >= 196, "{kind:?} {effect}: {} of {WINDOWS}", count(&found, &[right]));
            assert_eq!(count(&found, &[wrong]), 0, "{kind:?} {effect}");
        }
    }
    for kind in [Kind::Calm, Kind::HeavyTails] {
        for design in [fixed_long as fn(Clip) -> Design, budgeted] {
            let found = windows(kind, 0.02, design);
            assert!(count(&found, &[Decision::Worse]) >= 196, "{kind:?}: {}", count(&found, &[Decision::Worse]));
        }
    }
}

#[test]
fn equivalence_is_found_and_not_claimed_of_a_real_effect() {
    let wide = |clip| Design::anytime(0.01, 0.01, clip, 2000);
    let same = windows(Kind::Calm, 0.0, wide);
    assert!(count(&same, &[Decision::Equivalent]) >= 196, "{}", count(&same, &[Decision::Equivalent]));
    let different = windows(Kind::Calm, 0.03, wide);
    assert_eq!(count(&different, &[Decision::Worse]), WINDOWS);
}
