//! Detectors of figures that describe something that software never does. Pure but for the race of arms under a clock.
//!
//! Each takes what a suspicious measurement would show and says whether the figure stands. A figure that does not is
//! still in the map, with its finding beside it: nobody should have to guess why a number looks odd.

use crate::clock::Clock;
use crate::rig::{Rig, WINDOW};
use crate::summary::median;
use model::Finding;

/// A difference of rates below this is noise.
pub(crate) const TOLERANCE: f64 = 1.02;
/// What a rate may still gain from the last turn of a knob.
const PLATEAU: f64 = 1.05;
/// Two unlike units whose latencies agree to this share are one loop's overhead.
const IDENTICAL: f64 = 0.01;
/// What a loop may cost beside the operations that it is meant to time.
const OVERHEAD: f64 = 0.03;
/// A ceiling that later windows fall below by this was a burst.
const BURST: f64 = 1.05;
/// Shortest time that shows whether a rate is kept up.
const KEPT_UP: f64 = 5.0;
/// What the layouts of one kernel may differ by.
const LAYOUT: f64 = 1.05;

/// Rates of the arms at the same work, in rounds in which each runs once: paired, so that a clock that moves between
/// plateaus moves all of them.
pub(crate) fn race(clock: &mut dyn Clock, arms: &mut [&mut dyn FnMut(u64)], rounds: u32) -> Result<Vec<f64>, String> {
    let Some(first) = arms.first_mut() else { return Ok(Vec::new()) };
    let units = Rig { clock, load: *first }.units(WINDOW)?;
    race_at(clock, arms, units, rounds)
}

/// The same at a given number of units.
pub(crate) fn race_at(
    clock: &mut dyn Clock,
    arms: &mut [&mut dyn FnMut(u64)],
    units: u64,
    rounds: u32,
) -> Result<Vec<f64>, String> {
    let n = arms.len();
    let mut times = vec![Vec::new(); n];
    for round in 0..rounds.max(1) as usize {
        for step in 0..n {
            // Every arm comes first as often as the others.
            let i = (step + round) % n;
            let time = Rig { clock, load: &mut *arms[i] }.time(units).0;
            if time <= 0.0 {
                return Err("a window took no time".to_owned());
            }
            times[i].push(time);
        }
    }
    let base = median(times[0].clone()).ok_or("no arm")?;
    let of_first = |arm: &[f64]| median(times[0].iter().zip(arm).map(|(first, time)| first / time).collect());
    Ok(times.iter().map(|arm| of_first(arm).unwrap_or(f64::NAN) * units as f64 / base).collect())
}

/// A doubt counts when it is seen three times: a shared machine makes one of hundreds of sound figures look odd. A
/// fault in a probe is there every time.
pub(crate) fn confirmed(mut look: impl FnMut() -> Result<Finding, String>) -> Result<Finding, String> {
    const LOOKS: usize = 3;
    let mut seen = look()?;
    for _ in 1..LOOKS {
        if seen.sound {
            break;
        }
        seen = look()?;
    }
    Ok(seen)
}

fn finding(detector: &str, figure: &str, sound: bool, text: String) -> Finding {
    Finding { detector: detector.to_owned(), figure: figure.to_owned(), sound, text }
}

/// A figure from zeros or constants: what is claimed must be what random operands reach.
pub(crate) fn zero_fed(figure: &str, claimed: f64, random: f64, zeros: f64) -> Finding {
    let text = format!(
        "as published {:.3} of the rate on random operands; zeros run {:.3} times as fast",
        claimed / random,
        zeros / random
    );
    finding("zero-fed", figure, claimed <= TOLERANCE * random, text)
}

/// A figure from one operand used twice: what is claimed must be what three different operands reach.
pub(crate) fn one_operand(figure: &str, claimed: f64, [one, two, three]: [f64; 3]) -> Finding {
    let text = format!(
        "as published {:.3} of the form with three operands; x x + x {:.3}, x x + c {:.3}",
        claimed / three,
        one / three,
        two / three
    );
    finding("one-operand", figure, claimed <= TOLERANCE * three, text)
}

/// A figure from a weak probe: no setting of a knob may beat it, and the last turn must hardly gain any more.
pub(crate) fn plateau(figure: &str, claimed: f64, knob: &str, rates: &[f64]) -> Finding {
    let best = rates.iter().copied().fold(0.0, f64::max);
    let flat = match rates {
        [.., before, last] => last / before <= PLATEAU,
        _ => false,
    };
    let words: Vec<String> = rates.iter().map(|rate| format!("{:.2}", rate / claimed)).collect();
    let sound = flat && best <= TOLERANCE * claimed;
    finding("plateau", figure, sound, format!("{knob}: {} of the figure", words.join(", ")))
}

/// A loop's overhead in a latency: an operation must take as long at twice the unroll.
pub(crate) fn loop_overhead(figure: &str, [short, long]: [f64; 2]) -> Finding {
    let share = short / long - 1.0;
    let text = format!("{:.1} % more an operation at half the unroll", 100.0 * share);
    finding("loop-overhead", figure, share.abs() <= OVERHEAD, text)
}

/// The same time for operations that no core does in the same time.
pub(crate) fn identical(figures: [&str; 2], latencies: [f64; 2]) -> Finding {
    let apart = (latencies[0] / latencies[1] - 1.0).abs();
    let text = format!("{} is {:.2} times {}", figures[0], latencies[0] / latencies[1], figures[1]);
    finding("loop-overhead", figures[0], apart > IDENTICAL, text)
}

/// A burst published as sustained: `series` is `[seconds, rate]`.
pub(crate) fn burst(figure: &str, claimed: f64, series: &[[f64; 2]]) -> Finding {
    let length = series.last().map_or(0.0, |last| last[0]);
    let late = median(series.iter().filter(|[at, _]| *at >= length / 2.0).map(|[_, rate]| *rate).collect());
    let late = late.unwrap_or(f64::NAN);
    let best = series.iter().map(|[_, rate]| *rate).fold(0.0, f64::max);
    let mut text = format!(
        "as published {:.3} of the second half of {length:.1} s; best window {:.3}",
        claimed / late,
        best / late
    );
    if length < 0.95 * KEPT_UP {
        text += "; too short to show whether it is kept up";
    }
    finding("burst", figure, claimed <= BURST * late, text)
}

/// One lucky layout: the rates of the same kernel at different addresses.
pub(crate) fn layout(figure: &str, rates: &[f64]) -> Finding {
    let best = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let text =
        format!("the best of {} layouts is {:.3} times the worst; all are in the figure", rates.len(), best / least);
    finding("layout", figure, best <= LAYOUT * least, text)
}

/// A witness that beats a ceiling breaks it; `ratio` is the witness's rate over the ceiling's, paired.
pub(crate) fn witness(figure: &str, name: &str, ratio: f64) -> Finding {
    finding("witness", figure, ratio <= TOLERANCE, format!("{name} reaches {ratio:.3} of it"))
}

/// A ceiling that was measured again because another figure beat it; `ratio` is the other over it, now.
pub(crate) fn order(figure: &str, other: &str, ratio: f64) -> Finding {
    let text = format!("measured again because {other} beat it; now that reaches {ratio:.3} of it");
    finding("order", figure, ratio <= TOLERANCE, text)
}

/// Other programs' share of the cores' time that leaves every figure alone.
const ALONE: f64 = 0.05;

/// A busy machine: `share` of the cores' time went to other programs while it was measured.
pub(crate) fn company(share: f64) -> Finding {
    let text = format!("other programs had {:.1} % of the cores' time while this was measured", 100.0 * share);
    finding("load", "every figure", share <= ALONE, text)
}

/// A knee may be so far from what the level holds.
const KNEE: f64 = 0.1;

/// A capacity's knee that scattered pages moved; `held` is what lines show that were picked so that none pushes another
/// out, where that could be measured.
pub(crate) fn scattered(figure: &str, knee: f64, held: Option<f64>) -> Finding {
    let Some(held) = held else {
        let text = "the pages' addresses are unknown and may be scattered: the knee may come early, and the level holds \
                    no more than the end of the interval";
        return finding("scattered", figure, false, text.to_owned());
    };
    let percent = 100.0 * (knee / held - 1.0);
    let text = format!("the knee is {percent:+.0} % off what lines show that were picked so that all stay");
    finding("scattered", figure, (knee / held - 1.0).abs() <= KNEE, text)
}

/// A clock that the system changed while it was read.
pub(crate) fn clock_source(before: &str, after: &str) -> Finding {
    let text = if before == after {
        format!("the system's clock source was {before} throughout")
    } else {
        format!("the system changed its clock source from {before} to {after} in the middle")
    };
    finding("clock", "every figure", before == after, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::simulated::Simulated;

    /// A load of simulated time.
    fn load(clock: &Simulated, seconds: f64) -> impl FnMut(u64) + use<> {
        let clock = clock.clone();
        move |units| clock.advance(units as f64 * seconds)
    }

    /// Rates of loads that take so many seconds a unit.
    fn rates(seconds: &[f64]) -> Vec<f64> {
        let mut clock = Simulated::default();
        let mut loads: Vec<_> = seconds.iter().map(|&seconds| load(&clock, seconds)).collect();
        let mut arms: Vec<&mut dyn FnMut(u64)> = loads.iter_mut().map(|load| load as &mut dyn FnMut(u64)).collect();
        race(&mut clock, &mut arms, 9).unwrap()
    }

    #[test]
    fn a_fault_is_confirmed_and_a_disturbance_is_not() {
        let looks = std::cell::Cell::new(0);
        let check = |sound: fn(u32) -> bool, expected: (bool, u32)| {
            looks.set(0);
            let finding = confirmed(|| {
                looks.set(looks.get() + 1);
                Ok(finding("x", "y", sound(looks.get()), String::new()))
            });
            assert_eq!((finding.unwrap().sound, looks.get()), expected);
        };
        check(|_| false, (false, 3));
        check(|look| look == 2, (true, 2));
        check(|_| true, (true, 1));
    }

    #[test]
    fn a_race_is_paired() {
        let rates = rates(&[1e-6, 2e-6, 0.5e-6]);
        for (rate, expected) in rates.iter().zip([1e6, 0.5e6, 2e6]) {
            assert!((rate / expected - 1.0).abs() < 1e-9, "{rates:?}");
        }
    }

    /// A unit that multiplies zeros 13 % faster, as one accelerator does.
    fn zeros_run_faster(is_zero: bool) -> f64 {
        if is_zero { 1e-6 / 1.13 } else { 1e-6 }
    }

    #[test]
    fn a_zero_fed_peak_is_found() {
        let check = |published_on_zeros: bool, sound: bool| {
            let published = zeros_run_faster(published_on_zeros);
            let rates = rates(&[published, zeros_run_faster(false), zeros_run_faster(true)]);
            let finding = zero_fed("compute.x.one", rates[0], rates[1], rates[2]);
            assert_eq!(finding.sound, sound, "{finding:?}");
            assert!(finding.text.contains("zeros run 1.130"), "{finding:?}");
        };
        check(true, false);
        check(false, true);
    }

    #[test]
    fn an_x_times_x_peak_is_found() {
        // A profiler's roof read 81 where 61 is real: the form with one operand issues twice.
        let (one, two, three) = (1.0 / 81e6, 1.0 / 81e6, 1.0 / 61e6);
        let check = |published: f64, sound: bool| {
            let rates = rates(&[published, one, two, three]);
            let finding = one_operand("compute.x.one", rates[0], [rates[1], rates[2], rates[3]]);
            assert_eq!(finding.sound, sound, "{finding:?}");
        };
        check(two, false);
        check(three, true);
    }

    #[test]
    fn a_probe_with_one_accumulator_is_found() {
        // Latency 4, two units: the rate rises with accumulators until 8.
        let at = |accumulators: f64| 1e-6 / (accumulators / 4.0_f64).min(2.0);
        let sweep: Vec<f64> = [1.0, 2.0, 4.0, 8.0, 12.0].map(at).to_vec();
        let check = |published: f64, knobs: &[f64], sound: bool| {
            let rates = rates(&[&[published], knobs].concat());
            let finding = plateau("compute.x.one", rates[0], "accumulators", &rates[1..]);
            assert_eq!(finding.sound, sound, "{finding:?}");
        };
        check(at(1.0), &sweep, false);
        check(at(16.0), &sweep, true);
        // A sweep that still rises at its end proves nothing.
        check(at(4.0), &sweep[..3], false);
    }

    #[test]
    fn a_loop_that_is_timed_instead_is_found() {
        // 29 cycles of loop for each operation, whatever it is.
        let per_operation = |unroll: f64, latency: f64, overhead: f64| latency + overhead / unroll;
        let check = |overhead: f64, sound: bool| {
            let finding = loop_overhead("instruction.add", [48.0, 96.0].map(|n| per_operation(n, 4.0, overhead)));
            assert_eq!(finding.sound, sound, "{finding:?}");
        };
        check(29.0, false);
        check(1.0, true);
        assert!(!identical(["add", "sine"], [29.0, 29.0]).sound);
        assert!(identical(["add", "div"], [4.0, 11.0]).sound);
    }

    #[test]
    fn a_burst_is_found() {
        // Full speed for a tenth of a second, then 15 % less.
        let series: Vec<[f64; 2]> =
            (0..6000).map(|i| [f64::from(i) * 1e-3, if i < 100 { 1.0 } else { 0.85 }]).collect();
        assert!(!burst("compute.x.one", 1.0, &series).sound);
        assert!(burst("compute.x.one", 0.85, &series).sound);
        let brief = burst("compute.x.one", 1.0, &series[..50]);
        assert!(brief.text.contains("too short"), "{brief:?}");
    }

    #[test]
    fn a_lucky_layout_is_found() {
        let check = |seconds: &[f64], sound: bool| {
            let finding = layout("memory.L1.copy.one", &rates(seconds));
            assert_eq!(finding.sound, sound, "{finding:?}");
        };
        check(&[1e-6, 1e-6, 0.4e-6], false);
        check(&[1e-6, 1.01e-6, 0.99e-6], true);
    }

    #[test]
    fn a_ceiling_that_is_beaten_twice_is_broken() {
        assert!(!order("compute.f32.one", "f32-avx2", 1.1).sound);
        assert!(order("compute.f32.one", "f32-avx2", 0.9).sound);
        assert!(!order("compute.f32.one", "f32-avx2", f64::NAN).sound);
    }

    #[test]
    fn a_busy_machine_and_a_changed_clock_are_found() {
        assert!(company(0.01).sound && !company(0.4).sound);
        assert!(clock_source("tsc", "tsc").sound && !clock_source("tsc", "hpet").sound);
    }

    #[test]
    fn a_library_that_beats_a_ceiling_breaks_it() {
        assert!(!witness("compute.f32.one", "gemm", 1.1).sound);
        assert!(witness("compute.f32.one", "gemm", 0.9).sound);
    }
}
