//! Faster than the machine can be: a deeper look at the candidate and at the ceilings, then a word on which is wrong.
//!
//! Must not let a time below the floor be ranked, and must not refuse a candidate for a ceiling that the map missed.

use crate::judge::{EnvError, Judge, LIMIT};
use crate::measure::{Meeting, given};
use crate::pairing::{Broken, Of, Spent};
use crate::runner::Code;
use crate::sandbox::SandboxError;
use crate::side::Side;
use model::{Arm, BytesPerSecond, CountPerSecond, Map, Rule, Seconds, ShapeJudgement, Verdict, Work};
use std::time::Duration;

/// Process pairs of the second look: as many as give a median that no single one of them moves.
const AGAIN: usize = 7;
/// Shortest call of a probe: the handshake of 9 us is 0.3 % of it.
const WINDOW: Duration = Duration::from_millis(3);
/// Windows of a probe. The best of them counts, as in the map: a ceiling is what the machine was ever seen to do.
const WINDOWS: usize = 60;
/// Elements of a memory probe's array at most, 512 MiB: beyond any last level that is known to us.
const LARGEST: i64 = 1 << 27;

/// What the second look shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    /// Still faster than the machine can be, by its ceilings as they are now.
    Impossible,
    /// Possible by its ceilings as they are now: the map's are too low.
    CeilingBroken,
    /// Not that fast any more.
    NotConfirmed,
}

/// From the candidate's time at the second look, the least that the map allows, and the least that the ceilings allow
/// that were probed now.
fn finding(again: Seconds, mapped: Seconds, probed: Seconds) -> Finding {
    if again < probed {
        Finding::Impossible
    } else if again < mapped {
        Finding::CeilingBroken
    } else {
        Finding::NotConfirmed
    }
}

impl Judge {
    /// Looks again at a candidate that was faster than the map allows, and puts what it finds in the verdict.
    ///
    /// # Errors
    /// The environment's failures.
    pub fn doubt(
        &mut self,
        shape: &mut ShapeJudgement,
        meeting: &Meeting<'_>,
        spent: &mut Spent,
    ) -> Result<(), EnvError> {
        let (Some(map), Some(first)) = (&self.map, shape.candidate) else { return Ok(()) };
        let work = self.problem.work(&shape.workload);
        // A map's ceilings are one core's; no more than all that a pool has together can be reached with one.
        let share = ((1 + self.problem.threads) as f64).recip();
        let Ok(mapped) = score::quarantine_limit(&work, map).map(|limit| limit * share) else { return Ok(()) };
        if first >= mapped || !matches!(meeting.task.job.candidate, Arm::Source(_) | Arm::Library(_)) {
            return Ok(());
        }
        let map = map.clone();
        let again = match self.time_again(meeting, spent) {
            Ok(again) => again,
            Err(broken) => {
                shape.verdict = given(broken)?;
                return Ok(());
            }
        };
        let now = self.probe_again(&map, &work, meeting)?;
        let probed = score::quarantine_limit(&work, &now).map_or(mapped, |limit| limit * share);
        shape.verdict = verdict(finding(again, mapped, probed), [first, again], [mapped, probed]);
        Ok(())
    }

    /// The candidate's time, on fresh processes and inputs; every row of the first call is checked.
    fn time_again(&mut self, meeting: &Meeting<'_>, spent: &mut Spent) -> Result<Seconds, Broken> {
        let mut coins = self.fork_coins();
        let limit = Duration::from(self.problem.budget.call).max(LIMIT);
        let pairing = self.pairing(meeting, [&meeting.sides[0], &meeting.sides[1]], limit);
        pairing.gate(Of::Candidate, &mut coins, spent)?;
        let mut times = Vec::with_capacity(AGAIN);
        for _ in 0..AGAIN {
            times.push(pairing.run(&mut coins, spent)?.call[Of::Candidate as usize].0);
        }
        Ok(Seconds(stats::robust::median(&times)))
    }

    /// The map with every ceiling that the work needs lifted to what its probe reaches now, where that is more.
    fn probe_again(&self, map: &Map, work: &Work, meeting: &Meeting<'_>) -> Result<Map, EnvError> {
        let mut now = map.clone();
        for ceiling in &mut now.compute {
            if work.flop.0 > 0.0 && ["f32", "bf16-dot", "bf16-matrix"].contains(&ceiling.name.as_str()) {
                let seen = self.best_rate(&format!("ceiling-{}", ceiling.name), 0, meeting)?;
                // Both figures, since what lies between them is the clock's lift, which exp gets as well.
                let factor = (seen / ceiling.burst.0).max(1.0);
                ceiling.burst = ceiling.burst * factor;
                ceiling.sustained = ceiling.sustained * factor;
            }
        }
        if let Some(exp) = now.exp.filter(|_| work.exp.0 > 0.0) {
            let seen = self.best_rate("ceiling-exp", 0, meeting)?;
            now.exp = Some(CountPerSecond(exp.0.max(seen)));
        }
        let level = score::memory_level(map, work.bytes).map(str::to_owned);
        for ceiling in now.memory.iter_mut().filter(|ceiling| Some(&ceiling.level) == level.as_ref()) {
            let buffers = kernels::buffers(&format!("ceiling-{}", ceiling.kernel), &[1 << 10, 1]).unwrap_or_default();
            let arrays = buffers.iter().filter(|bytes| **bytes >= 4 << 10).count().max(1);
            let elements = ((ceiling.working_set.0 / (4 * arrays) as f64) as i64).clamp(1 << 10, LARGEST) & !1023;
            for form in ["", "-stream"] {
                let seen = self.best_rate(&format!("ceiling-{}{form}", ceiling.kernel), elements, meeting)?;
                ceiling.best = BytesPerSecond(ceiling.best.0.max(seen));
            }
        }
        Ok(now)
    }

    /// The best that a probe reaches in a second of its unit of work; 0 where this machine has no such probe.
    fn best_rate(&self, kernel: &str, elements: i64, meeting: &Meeting<'_>) -> Result<f64, EnvError> {
        if kernels::find(kernel).is_none() {
            return Ok(0.0);
        }
        let probe = |repeats: i64| {
            let code = Code::Kernel { name: kernel.to_owned(), spin: 0 };
            Side::probe(code, kernel, repeats, elements, meeting.task.workload.clone()).map_err(SandboxError::Os)
        };
        let mut repeats = 1;
        let mut time = self.time_once(&probe(repeats)?)?;
        while time < WINDOW {
            let factor = 1.2 * WINDOW.as_secs_f64() / time.as_secs_f64().max(1e-7);
            repeats = (repeats as f64 * factor.clamp(1.5, 1e3)).ceil() as i64;
            time = self.time_once(&probe(repeats)?)?;
        }
        let side = probe(repeats)?;
        let best = self.times(&side, WINDOWS)?.into_iter().min().unwrap_or(time);
        let done = [kernels::flop, kernels::exps, kernels::bytes].map(|work| work(kernel, &side.sizes).unwrap_or(0.0));
        Ok(done.into_iter().fold(0.0, f64::max) / best.as_secs_f64())
    }
}

fn verdict(finding: Finding, [first, again]: [Seconds; 2], [mapped, probed]: [Seconds; 2]) -> Verdict {
    match finding {
        Finding::Impossible => Verdict::Refused {
            rule: Rule::FasterThanPossible,
            detail: format!(
                "{first} a call, and {again} again on other inputs, where this machine's fastest unit needs at least \
                 {probed} by ceilings probed just now; if the op needs less work than the problem counts, mend its [work]"
            ),
        },
        Finding::CeilingBroken => Verdict::Quarantined {
            why: format!(
                "ceiling broken: {first} a call, and {again} again; the map says that {mapped} is the least, but its \
                 probes now allow {probed}: measure the map again (`rooflab map --fresh`)"
            ),
        },
        Finding::NotConfirmed => Verdict::Quarantined {
            why: format!(
                "not confirmed: {first} a call, then {again} on other inputs, where this machine's fastest unit needs at \
                 least {mapped}: the machine's clocks are not steady enough to rank it"
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_the_candidate_or_the_ceiling_is_wrong() {
        let check = |again: f64, mapped: f64, probed: f64, expected: Finding| {
            assert_eq!(
                finding(Seconds(again), Seconds(mapped), Seconds(probed)),
                expected,
                "{again} {mapped} {probed}"
            );
        };
        check(0.5, 2.0, 2.0, Finding::Impossible);
        check(0.5, 2.0, 1.0, Finding::Impossible);
        check(1.5, 2.0, 1.0, Finding::CeilingBroken);
        check(1.0, 2.0, 1.0, Finding::CeilingBroken);
        check(2.0, 2.0, 1.0, Finding::NotConfirmed);
        check(3.0, 2.0, 2.0, Finding::NotConfirmed);
        check(f64::NAN, 2.0, 1.0, Finding::NotConfirmed);
    }

    #[test]
    fn the_word_names_both_figures() {
        let words = |finding| verdict(finding, [Seconds(1e-3), Seconds(1.1e-3)], [Seconds(2e-3), Seconds(1.5e-3)]);
        let Verdict::Refused { rule, detail } = words(Finding::Impossible) else { panic!() };
        assert_eq!(rule, Rule::FasterThanPossible);
        assert!(detail.starts_with("1.00 ms a call, and 1.10 ms again"), "{detail}");
        for (finding, part) in
            [(Finding::CeilingBroken, "ceiling broken: "), (Finding::NotConfirmed, "not confirmed: ")]
        {
            let Verdict::Quarantined { why } = words(finding) else { panic!() };
            assert!(why.starts_with(part) && why.contains("2.00 ms"), "{why}");
        }
    }
}
