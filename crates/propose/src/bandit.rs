//! Which of several models to ask next: the one whose replies are likely to take away most time for their cost.
//!
//! Thompson sampling on gain over cost (Xia et al., "Thompson sampling for budgeted multi-armed bandits", IJCAI 2015,
//! with a normal posterior for the gain): a model that paid is asked more, one that is cheap may pay less, and one that
//! was asked little is asked now and then. Must not remember anything: the choice is a function of the seed, the trials
//! and the number of the choice.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A gain counts as this much at most, in ln: the first steps away from plain loops are worth a factor of ten whoever
/// makes them, and say nothing about who is good.
const MOST: f64 = std::f64::consts::LN_2;
/// Spread of the gains before there are any: half of what counts at most.
const SPREAD: f64 = MOST / 2.0;
/// Weight of what is believed beforehand, in trials.
const PRIOR: f64 = 1.0;

/// One proposal that was paid for, whatever became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Index of the model.
    pub arm: usize,
    /// What it took away: -ln of its time against what it was compared with, where the judge found it better; else 0.
    pub gain: f64,
    /// What it cost, in any one unit.
    pub cost: f64,
}

/// The choice between models.
#[derive(Clone, Debug, PartialEq)]
pub struct Bandit {
    seed: u64,
    expected_costs: Vec<f64>,
}

impl Bandit {
    /// One arm for each expected cost of a call, which counts as one trial's.
    pub fn new(seed: u64, expected_costs: Vec<f64>) -> Self {
        Self { seed, expected_costs }
    }

    /// The arm for the `counter`-th proposal; 0 when there is only one.
    pub fn choose(&self, trials: &[Trial], counter: u64) -> usize {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(counter);
        let (mean, spread) = pooled(trials);
        let worth = |arm: usize, rng: &mut ChaCha8Rng| {
            let own: Vec<&Trial> = trials.iter().filter(|trial| trial.arm == arm).collect();
            let n = own.len() as f64 + PRIOR;
            // Before it was tried, a model is believed to be somewhat better than the others are.
            let gains: f64 = own.iter().map(|trial| capped(trial.gain)).sum();
            let centre = (gains + PRIOR * (mean + spread)) / n;
            let cost = (own.iter().map(|trial| trial.cost).sum::<f64>() + self.expected_costs[arm]) / n;
            let gain = centre + spread / n.sqrt() * normal(rng);
            // A draw below zero is no reason to prefer what is expensive.
            gain.max(f64::MIN_POSITIVE) / cost.max(f64::MIN_POSITIVE)
        };
        let drawn: Vec<f64> = (0..self.expected_costs.len()).map(|arm| worth(arm, &mut rng)).collect();
        let best = (0..drawn.len()).max_by(|a, b| drawn[*a].total_cmp(&drawn[*b]).then(b.cmp(a)));
        best.unwrap_or(0)
    }
}

fn capped(gain: f64) -> f64 {
    gain.clamp(0.0, MOST)
}

/// Mean and spread of all gains, so that small gains late in a campaign still tell models apart.
fn pooled(trials: &[Trial]) -> (f64, f64) {
    let n = trials.len() as f64;
    let mean = trials.iter().map(|trial| capped(trial.gain)).sum::<f64>() / n.max(1.0);
    let squares: f64 = trials.iter().map(|trial| (capped(trial.gain) - mean).powi(2)).sum();
    (mean, ((squares + SPREAD.powi(2)) / (n + 1.0)).sqrt())
}

/// A standard normal draw (Box and Muller 1958).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (rng.random_range(0.0..1.0), rng.random_range(0.0..1.0));
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each arm is asked in `rounds`, if an arm's proposal wins its gain at its chance.
    fn shares(arms: &[(f64, f64, f64)], rounds: u64, seed: u64) -> Vec<f64> {
        let bandit = Bandit::new(seed, arms.iter().map(|(_, _, cost)| *cost).collect());
        let mut world = ChaCha8Rng::seed_from_u64(seed + 1000);
        let mut trials = Vec::new();
        for counter in 0..rounds {
            let arm = bandit.choose(&trials, counter);
            let (chance, gain, cost) = arms[arm];
            let won = world.random_range(0.0..1.0) < chance;
            trials.push(Trial { arm, gain: if won { gain } else { 0.0 }, cost });
        }
        let count = |arm: usize| trials.iter().filter(|trial| trial.arm == arm).count() as f64 / rounds as f64;
        (0..arms.len()).map(count).collect()
    }

    #[test]
    fn the_best_for_its_cost_is_asked_most() {
        let check = |arms: &[(f64, f64, f64)], best: usize| {
            // One seed can be unlucky: ten together are not.
            let all: Vec<Vec<f64>> = (0..10).map(|seed| shares(arms, 200, seed)).collect();
            let share: f64 = all.iter().map(|shares| shares[best]).sum::<f64>() / 10.0;
            assert!(share > 0.6, "{arms:?}: {share}");
            let others = (0..arms.len()).filter(|arm| *arm != best);
            let asked = |arm: usize| all.iter().any(|shares| shares[arm] > 0.0);
            assert!(others.into_iter().all(asked), "every arm is tried: {all:?}");
        };
        // Same cost, one wins more often.
        check(&[(0.4, 0.1, 1.0), (0.05, 0.1, 1.0)], 0);
        // The dear one gains twice as much and costs ten times as much.
        check(&[(0.4, 0.2, 10.0), (0.4, 0.1, 1.0)], 1);
        // The dear one is worth it: the cheap one hardly ever wins.
        check(&[(0.5, 0.3, 3.0), (0.01, 0.02, 1.0)], 0);
    }

    #[test]
    fn the_same_seed_and_history_choose_the_same() {
        let bandit = Bandit::new(7, vec![1.0, 2.0, 3.0]);
        let trials = [Trial { arm: 1, gain: 0.2, cost: 2.0 }, Trial { arm: 0, gain: 0.0, cost: 1.0 }];
        let choose = |counter| bandit.choose(&trials, counter);
        let first: Vec<usize> = (0..50).map(choose).collect();
        assert_eq!(first, (0..50).map(choose).collect::<Vec<_>>());
        assert!(first.iter().any(|arm| *arm != first[0]), "draws differ by counter");
        assert_eq!(Bandit::new(7, vec![0.0]).choose(&[], 3), 0);
    }
}
