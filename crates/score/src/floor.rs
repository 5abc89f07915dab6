//! Floor time: what the slowest of a machine's resources needs for an op, whatever the code.
//!
//! Must not know how a ceiling was measured.

use model::{
    Bytes, BytesPerSecond, Count, CountPerSecond, Flop, FlopPerSecond, Map, MemoryCeiling, Products, Seconds, Work,
};
use serde::{Deserialize, Serialize};

/// Why there is no floor.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// The work needs a unit that the map says nothing of.
    #[error("the map has no {ceiling} ceiling, and this work needs one: measure the map again")]
    Missing {
        /// `f32`, `exp`, `memory`.
        ceiling: &'static str,
    },
    /// A ceiling that is zero, negative or no number.
    #[error("the map's {ceiling} ceiling is {value}: measure the map again")]
    Nonsense {
        /// Which.
        ceiling: &'static str,
        /// Its value, in its own unit.
        value: f64,
    },
    /// Work that is negative, no number, or nothing at all.
    #[error("the work's {what} is {value}: correct the problem's [work]")]
    Work {
        /// `flop`, `bytes`, `exp`.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

/// Which figure of a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// What the machine keeps up: scores.
    Sustained,
    /// The best that it was ever seen to do: limits.
    Burst,
}

/// Resources that work at the same time. Terms of one resource add; resources overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The vector unit's ports: multiply-adds and exp share them.
    Vector,
    /// The matrix unit, for products of bf16.
    Matrix,
    /// The path to the level of memory that holds the working set.
    Memory,
}

/// One term of a floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// `f32`, `bf16-dot`, `bf16-matrix`, `exp`, or the level of memory.
    pub name: String,
    /// What it occupies.
    pub resource: Resource,
    /// For how long, by itself.
    pub seconds: Seconds,
}

/// What limits an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Arithmetic.
    Compute,
    /// Data movement.
    Memory,
}

/// The least time that an op's work takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Every term that is not zero.
    pub terms: Vec<Term>,
    /// The floor with every term: the largest sum over a resource. The FLOP are f32's on the vector unit; where the work's
    /// products are bf16 they are the matrix unit's, else bf16 dot products on the vector unit, where there are any.
    pub seconds: Seconds,
    /// Which resource that is.
    pub resource: Resource,
    /// The FLOP alone, on the matrix unit at its best window; at f32's tolerance with three bf16 products each
    /// ([`SPLIT_PRODUCTS`]). Absent when the map has no such unit or the op has no FLOP. Below `seconds` where that
    /// unit is faster.
    pub matrix_alone: Option<Seconds>,
    /// FLOP per byte of the op: where it stands on a roofline.
    pub intensity: f64,
}

impl Floor {
    /// Arithmetic or data movement.
    pub fn bound(&self) -> Bound {
        if self.resource == Resource::Memory { Bound::Memory } else { Bound::Compute }
    }
}

/// bf16 products that stand for one f32 product: high x high, high x low, low x high. Held against the tolerances of
/// the shipped problems, an answer made so passes with half to spare (problems/README.md).
pub const SPLIT_PRODUCTS: f64 = 3.0;

/// A burst can be a little above the best window that the map saw.
const ALLOWANCE: f64 = 0.05;

/// The floor of `work` on the machine of `map`, at its sustained figures.
///
/// # Errors
/// When the map lacks a ceiling that the work needs, or a figure makes no sense.
pub fn floor(work: &Work, map: &Map) -> Result<Floor, ScoreError> {
    let rates = Rates::of(work, map, Figure::Sustained)?;
    let terms = rates.terms(work);
    let sum = |resource: Resource| terms.iter().filter(|term| term.resource == resource).map(|term| term.seconds).sum();
    let sums: [(Resource, Seconds); 3] =
        [Resource::Memory, Resource::Vector, Resource::Matrix].map(|resource| (resource, sum(resource)));
    // The first of equals: memory.
    let (resource, seconds) = sums.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or(sums[0]);
    Ok(Floor {
        seconds,
        resource,
        matrix_alone: rates.matrix_alone(work),
        intensity: work.flop.0 / work.bytes.0,
        terms,
    })
}

/// The share of what the machine could do that an op taking `time` reaches; none for a time that is not positive.
pub fn fraction(floor: &Floor, time: Seconds) -> Option<f64> {
    (time.0 > 0.0 && time.0.is_finite()).then(|| floor.seconds / time)
}

/// A call faster than this is quarantined: faster than the fastest unit that could meet the tolerance.
///
/// Burst figures, 5 % off. For products in bf16 that is the matrix unit beside the exp, or the vector unit's fastest way
/// where there is none. For f32 it is the fastest of two ways: all in f32 on the vector unit; or, where there is a matrix unit,
/// the FLOP in split bf16 on it ([`SPLIT_PRODUCTS`]) while the vector unit does the exp. Either way memory has to
/// deliver. An algorithm that needs fewer FLOP than the problem counts (Strassen's) would be quarantined as well, which
/// is what a deeper check is for.
///
/// # Errors
/// As [`floor`].
pub fn quarantine_limit(work: &Work, map: &Map) -> Result<Seconds, ScoreError> {
    let rates = Rates::of(work, map, Figure::Burst)?;
    let of =
        |name: &str| rates.terms(work).iter().find(|term| term.name == name).map_or(Seconds(0.0), |term| term.seconds);
    let memory: Seconds = rates.terms(work).iter().filter(|t| t.resource == Resource::Memory).map(|t| t.seconds).sum();
    let vector = (of("f32") + of("exp")).max(memory);
    let fastest = match rates.matrix_alone(work) {
        _ if work.products == Products::Bf16 => {
            let vector = of("f32") + of("bf16-dot") + of("exp");
            [of("bf16-matrix"), memory].into_iter().fold(vector, Seconds::max)
        }
        Some(matrix) if matrix.max(of("exp")).max(memory) < vector => matrix.max(of("exp")).max(memory),
        _ => vector,
    };
    Ok(fastest * (1.0 - ALLOWANCE))
}

/// The rates that some work needs, each positive and finite.
struct Rates {
    f32: Option<FlopPerSecond>,
    /// Dot products of bf16 on the vector unit, where they are faster than f32.
    dot: Option<FlopPerSecond>,
    exp: Option<CountPerSecond>,
    matrix: Option<FlopPerSecond>,
    memory: (String, BytesPerSecond),
}

impl Rates {
    fn of(work: &Work, map: &Map, figure: Figure) -> Result<Self, ScoreError> {
        let Work { flop: Flop(flop), bytes: Bytes(bytes), exp: Count(exp), .. } = *work;
        for (what, value) in [("flop", flop), ("bytes", bytes), ("exp", exp)] {
            if !(value >= 0.0 && value.is_finite()) || (what == "bytes" && value == 0.0) {
                return Err(ScoreError::Work { what, value });
            }
        }
        let unit = |name: &str| {
            map.compute(name).map(|ceiling| match figure {
                Figure::Sustained => ceiling.sustained.0,
                Figure::Burst => ceiling.burst.0,
            })
        };
        let f32 = if flop > 0.0 { Some(positive("f32", unit("f32"))?) } else { None };
        let dot = match unit("bf16-dot") {
            Some(rate) if flop > 0.0 => Some(positive("bf16-dot", Some(rate))?).filter(|rate| Some(*rate) > f32),
            _ => None,
        };
        // Always the best window: what a matrix unit sustains falls into clock plateaus a factor of four apart from one
        // minute to the next, and nobody's share of it should grow because the map met a slow one.
        let matrix = match map.compute("bf16-matrix").map(|ceiling| ceiling.burst.0) {
            Some(rate) if flop > 0.0 => Some(positive("bf16-matrix", Some(rate))?),
            _ => None,
        };
        // The map has one figure for exp. A burst lifts it as it lifts the multiply-adds: both follow the clock.
        let lift = map.compute("f32").filter(|_| figure == Figure::Burst).map_or(1.0, |c| c.burst / c.sustained);
        let lift = if lift.is_finite() { lift.max(1.0) } else { 1.0 };
        let exp = if exp > 0.0 { Some(positive("exp", map.exp.map(|rate| rate.0))? * lift) } else { None };
        Ok(Self {
            f32: f32.map(FlopPerSecond),
            dot: dot.map(FlopPerSecond),
            exp: exp.map(CountPerSecond),
            matrix: matrix.map(FlopPerSecond),
            memory: memory(map, Bytes(bytes), figure)?,
        })
    }

    fn terms(&self, work: &Work) -> Vec<Term> {
        let vector = |name: &str, seconds| Term { name: name.to_owned(), resource: Resource::Vector, seconds };
        let is_bf16 = work.products == Products::Bf16;
        let matrix = self.matrix.filter(|_| is_bf16);
        let dot = self.dot.filter(|_| is_bf16).map(|rate| ("bf16-dot", rate));
        let best = dot.or(self.f32.map(|rate| ("f32", rate))).filter(|_| matrix.is_none());
        let products = best.map(|(name, rate)| vector(name, work.flop / rate));
        let matrix = matrix.map(|rate| Term {
            name: "bf16-matrix".to_owned(),
            resource: Resource::Matrix,
            seconds: work.flop / rate,
        });
        let exp = self.exp.map(|rate| vector("exp", work.exp / rate));
        let (level, rate) = &self.memory;
        let memory = Term { name: level.clone(), resource: Resource::Memory, seconds: work.bytes / *rate };
        products.into_iter().chain(matrix).chain(exp).chain([memory]).collect()
    }

    fn matrix_alone(&self, work: &Work) -> Option<Seconds> {
        let products = match work.products {
            Products::F32 => SPLIT_PRODUCTS,
            Products::Bf16 => 1.0,
        };
        self.matrix.map(|rate| work.flop * products / rate)
    }
}

fn positive(ceiling: &'static str, value: Option<f64>) -> Result<f64, ScoreError> {
    match value {
        None => Err(ScoreError::Missing { ceiling }),
        Some(value) if value > 0.0 && value.is_finite() => Ok(value),
        Some(value) => Err(ScoreError::Nonsense { ceiling, value }),
    }
}

/// A probe's working set sits well inside its level: sizes up to twice the probe's still count as the level's.
const LEVEL_REACH: f64 = 2.0;

/// The first level of the map that holds `bytes`, or the last there is; none where the map has no memory ceiling.
pub fn memory_level(map: &Map, bytes: Bytes) -> Option<&str> {
    let mut ceilings: Vec<&MemoryCeiling> = map.memory.iter().collect();
    ceilings.sort_by(|a, b| a.working_set.0.total_cmp(&b.working_set.0));
    let holds = |ceiling: &&&MemoryCeiling| ceiling.working_set.0 * LEVEL_REACH >= bytes.0;
    Some(ceilings.iter().find(holds).or(ceilings.last())?.level.as_str())
}

/// The level that holds `bytes`, and the fastest that any kernel moves data there: a floor takes the fastest, since a
/// reader may beat a copier.
fn memory(map: &Map, bytes: Bytes, figure: Figure) -> Result<(String, BytesPerSecond), ScoreError> {
    let ceilings = &map.memory;
    let level = memory_level(map, bytes).ok_or(ScoreError::Missing { ceiling: "memory" })?;
    let rates = ceilings.iter().filter(|ceiling| ceiling.level == level).map(|ceiling| match figure {
        Figure::Sustained => ceiling.sustained.0,
        Figure::Burst => ceiling.best.0,
    });
    let rates = rates.map(|rate| positive("memory", Some(rate))).collect::<Result<Vec<f64>, _>>()?;
    Ok((level.to_owned(), BytesPerSecond(rates.into_iter().fold(0.0, f64::max))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ComputeCeiling, Fingerprint, Interval};

    fn compute(name: &str, sustained: f64, burst: f64) -> ComputeCeiling {
        ComputeCeiling {
            name: name.into(),
            isa: "test".into(),
            burst: FlopPerSecond(burst),
            sustained: FlopPerSecond(sustained),
            spread: Interval { low: sustained, high: sustained },
            method: String::new(),
        }
    }

    fn moves(level: &str, kernel: &str, working_set: f64, sustained: f64, best: f64) -> MemoryCeiling {
        MemoryCeiling {
            level: level.into(),
            kernel: kernel.into(),
            working_set: Bytes(working_set),
            best: BytesPerSecond(best),
            sustained: BytesPerSecond(sustained),
            spread: Interval { low: sustained, high: sustained },
            method: String::new(),
        }
    }

    /// 100 GFLOP/s, bursts of 125; 1e9 exp/s; 10 GB/s from DRAM, 100 from L2.
    fn map() -> Map {
        Map {
            fingerprint: Fingerprint {
                cpu: String::new(),
                cores: 1,
                features: Vec::new(),
                kernel: String::new(),
                platform: String::new(),
                probes: 1,
            },
            clock_resolution: Seconds(1e-9),
            clock_overhead: Seconds(1e-8),
            core_clock: None,
            compute: vec![compute("f32", 1e11, 1.25e11)],
            exp: Some(CountPerSecond(1e9)),
            memory: vec![
                moves("DRAM", "read", 1e9, 1e10, 1.2e10),
                moves("DRAM", "copy", 1e9, 8e9, 9e9),
                moves("L2", "read", 1e6, 1e11, 1.1e11),
            ],
            latency: Vec::new(),
            ..Map::default()
        }
    }

    fn work(flop: f64, bytes: f64, exp: f64) -> Work {
        Work { flop: Flop(flop), bytes: Bytes(bytes), exp: Count(exp), ..Work::default() }
    }

    #[test]
    fn floors_by_hand() {
        let check = |work: Work, seconds: f64, bound: Bound, names: &[&str]| {
            let floor = floor(&work, &map()).unwrap();
            assert!((floor.seconds.0 / seconds - 1.0).abs() < 1e-12, "{work:?}: {}", floor.seconds.0);
            assert_eq!(floor.bound(), bound, "{work:?}");
            assert_eq!(floor.terms.iter().map(|term| term.name.as_str()).collect::<Vec<_>>(), names);
        };
        // 1e9 FLOP take 10 ms and 1e6 exp 1 ms on the same ports; 1e6 bytes from L2 take 10 us.
        check(work(1e9, 1e6, 1e6), 0.011, Bound::Compute, &["f32", "exp", "L2"]);
        // 1e8 bytes from DRAM at 10 GB/s, the faster of read and copy: 10 ms, against 1 ms of arithmetic.
        check(work(1e8, 1e8, 0.0), 0.01, Bound::Memory, &["f32", "DRAM"]);
        check(work(0.0, 1e8, 0.0), 0.01, Bound::Memory, &["DRAM"]);
        // Twice the probe's working set is still L2; more is not. More than any level is the last one.
        check(work(0.0, 2e6, 0.0), 2e-5, Bound::Memory, &["L2"]);
        check(work(0.0, 2.1e6, 0.0), 2.1e-4, Bound::Memory, &["DRAM"]);
        check(work(0.0, 1e11, 0.0), 10.0, Bound::Memory, &["DRAM"]);
    }

    #[test]
    fn what_is_missing_is_never_zero() {
        let check = |change: fn(&mut Map), work: Work, expected: ScoreError| {
            let mut map = map();
            change(&mut map);
            assert_eq!(floor(&work, &map), Err(expected.clone()));
            assert_eq!(quarantine_limit(&work, &map), Err(expected));
        };
        let all = work(1e9, 1e6, 1e6);
        check(|map| map.compute.clear(), all, ScoreError::Missing { ceiling: "f32" });
        check(|map| map.exp = None, all, ScoreError::Missing { ceiling: "exp" });
        check(|map| map.memory.clear(), all, ScoreError::Missing { ceiling: "memory" });
        check(
            |map| map.compute[0] = compute("f32", 0.0, 0.0),
            work(1e9, 1e6, 0.0),
            ScoreError::Nonsense { ceiling: "f32", value: 0.0 },
        );
        check(
            |map| map.exp = Some(CountPerSecond(-1.0)),
            work(0.0, 1e6, 1.0),
            ScoreError::Nonsense { ceiling: "exp", value: -1.0 },
        );
        check(|_| (), work(-1.0, 1e6, 0.0), ScoreError::Work { what: "flop", value: -1.0 });
        check(|_| (), work(1.0, 0.0, 0.0), ScoreError::Work { what: "bytes", value: 0.0 });
        // What the work doesn't need may be missing.
        let mut bare = map();
        (bare.compute, bare.exp) = (Vec::new(), None);
        assert_eq!(floor(&work(0.0, 1e8, 0.0), &bare).unwrap().seconds, Seconds(0.01));
    }

    #[test]
    fn limits_by_hand() {
        let check = |matrix: Option<f64>, work: Work, seconds: f64| {
            let mut map = map();
            map.compute.extend(matrix.map(|burst| compute("bf16-matrix", burst / 2.0, burst)));
            let limit = quarantine_limit(&work, &map).unwrap();
            assert!((limit.0 / seconds - 1.0).abs() < 1e-12, "{matrix:?}: {}", limit.0);
        };
        // 1e9 FLOP at 125 GFLOP/s: 8 ms, and 1e6 exp at 1.25e9/s: 0.8 ms; 5 % off.
        check(None, work(1e9, 1e6, 1e6), 8.8e-3 * 0.95);
        // 3e9 at 1 TFLOP/s on the matrix unit: 3 ms, exp beside it.
        check(Some(1e12), work(1e9, 1e6, 1e6), 3e-3 * 0.95);
        // With 5e6 exp the vector unit has 4 ms beside the matrix unit's 3.
        check(Some(1e12), work(1e9, 1e6, 5e6), 4e-3 * 0.95);
        // A slow matrix unit changes nothing.
        check(Some(1e11), work(1e9, 1e6, 1e6), 8.8e-3 * 0.95);
        // Memory at its best, 12 GB/s, whatever the unit.
        check(Some(1e12), work(1e6, 1.2e8, 0.0), 0.01 * 0.95);
    }

    #[test]
    fn products_in_bf16_are_the_matrix_units() {
        let bf16 = |exp: f64| Work { products: Products::Bf16, ..work(1e9, 1e6, exp) };
        let check = |matrix: Option<f64>, exp: f64, (seconds, limit): (f64, f64), resource: Resource| {
            let mut map = map();
            map.compute.extend(matrix.map(|burst| compute("bf16-matrix", burst / 2.0, burst)));
            let floor = floor(&bf16(exp), &map).unwrap();
            assert!((floor.seconds.0 / seconds - 1.0).abs() < 1e-12, "{floor:?}");
            assert_eq!(floor.resource, resource, "{floor:?}");
            assert_eq!(floor.matrix_alone, matrix.map(|rate| Seconds(1e9 / rate)));
            let found = quarantine_limit(&bf16(exp), &map).unwrap();
            assert!((found.0 / (0.95 * limit) - 1.0).abs() < 1e-12, "{found:?}");
        };
        // 1e9 FLOP at 1 TFLOP/s: 1 ms; 1e5 exp beside it take 0.1 ms, 5e6 take 5 ms, 4 in a burst.
        check(Some(1e12), 1e5, (1e-3, 1e-3), Resource::Matrix);
        check(Some(1e12), 5e6, (5e-3, 4e-3), Resource::Vector);
        // Without the unit all of it is the vector unit's.
        check(None, 1e6, (0.011, 8.8e-3), Resource::Vector);
    }

    #[test]
    fn products_in_bf16_are_dot_products_where_no_matrix_unit_is() {
        let check = |dot: f64, others: &[ComputeCeiling], products: Products, names: &[&str], seconds: [f64; 2]| {
            let mut map = map();
            map.compute.push(compute("bf16-dot", dot, dot * 1.25));
            map.compute.extend(others.iter().cloned());
            let work = Work { products, ..work(1e9, 1e6, 1e6) };
            let floor = floor(&work, &map).unwrap();
            let found: Vec<&str> = floor.terms.iter().map(|term| term.name.as_str()).collect();
            assert_eq!(found, names);
            assert!((floor.seconds.0 / seconds[0] - 1.0).abs() < 1e-12, "{floor:?}");
            let limit = quarantine_limit(&work, &map).unwrap();
            assert!((limit.0 / (0.95 * seconds[1]) - 1.0).abs() < 1e-12, "{limit:?}");
        };
        let (bf16, f32) = (Products::Bf16, Products::F32);
        // 1e9 FLOP at 200 GFLOP/s: 5 ms, and 1 ms of exp on the same ports; a quarter faster in a burst.
        check(2e11, &[], bf16, &["bf16-dot", "exp", "L2"], [6e-3, 4.8e-3]);
        // An f32 tolerance does not allow them, a slow one is not used, and a matrix unit is what there is to beat.
        check(2e11, &[], f32, &["f32", "exp", "L2"], [0.011, 8.8e-3]);
        check(5e10, &[], bf16, &["f32", "exp", "L2"], [0.011, 8.8e-3]);
        check(2e11, &[compute("bf16-matrix", 5e11, 1e12)], bf16, &["bf16-matrix", "exp", "L2"], [1e-3, 1e-3]);
    }

    #[test]
    fn the_matrix_unit_alone() {
        assert_eq!(floor(&work(1e9, 1e6, 1e6), &map()).unwrap().matrix_alone, None);
        let mut map = map();
        map.compute.push(compute("bf16-matrix", 1e12, 2e12));
        let split = floor(&work(1e9, 1e6, 1e6), &map).unwrap();
        assert_eq!(split.matrix_alone, Some(Seconds(1.5e-3)), "its best window, not a slow minute's middle");
        assert_eq!(split.seconds, floor(&work(1e9, 1e6, 1e6), &self::map()).unwrap().seconds);
        assert_eq!(floor(&work(0.0, 1e6, 0.0), &map).unwrap().matrix_alone, None);
    }

    #[test]
    fn fractions() {
        let floor = floor(&work(0.0, 1e8, 0.0), &map()).unwrap();
        assert_eq!(fraction(&floor, Seconds(0.04)), Some(0.25));
        assert_eq!(fraction(&floor, Seconds(0.0)), None);
        assert_eq!(fraction(&floor, Seconds(f64::NAN)), None);
    }
}
