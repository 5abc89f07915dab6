//! What the probes have to compute, computed here. Pure.

use crate::random::mix;

/// Operations of a thread in a repeat of an arithmetic probe, spread over its chains, as in `alu.cu`.
pub(crate) const ALU_STEPS: u64 = 128;

/// The product of `rows` of A and `columns` of B, both K-major with `depth` a row, as integers.
pub(crate) fn product(a: &[i32], b: &[i32], depth: usize) -> Vec<i32> {
    let dot = |x: &[i32], y: &[i32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<i32>();
    a.chunks(depth).flat_map(|row| b.chunks(depth).map(move |column| dot(row, column))).collect()
}

/// Which operands an operation of a chain takes, of the chain's own value x and two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// x x + x
    One,
    /// x a + a
    Two,
    /// a b + x
    Three,
    /// (x + a) ^ b
    Logic,
}

/// A type of number: chains of a thread, how one is drawn, and a b + c, all as bits.
struct Unit {
    chains: u64,
    draw: fn(u64, u64) -> u64,
    fused: fn(u64, u64, u64) -> u64,
}

const F32: Unit = Unit {
    chains: 16,
    draw: |bits, i| bits & 0x807F_FFFF | 0x3E00_0000 | if i < 100 { 1 << 31 } else { 0 },
    fused: |a, b, c| {
        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        u64::from(a.mul_add(b, c).to_bits())
    },
};

const F64: Unit = Unit {
    chains: 8,
    draw: |bits, i| bits & 0x800F_FFFF_FFFF_FFFF | 0x3FC0_0000_0000_0000 | if i < 100 { 1 << 63 } else { 0 },
    fused: |a, b, c| f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits(),
};

const I32: Unit = Unit {
    chains: 16,
    draw: |bits, _| u64::from(bits as u32 | 1),
    fused: |a, b, c| u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32)),
};

// Two halves in a word, each on its own.
const F16: Unit = Unit { chains: 8, draw: |bits, _| bits & 0x83FF_83FF | 0x3000_3000, fused: fused_f16 };
const BF16: Unit = Unit { chains: 8, draw: |bits, _| bits & 0x807F_807F | 0x3E00_3E00, fused: fused_bf16 };

fn fused_f16(a: u64, b: u64, c: u64) -> u64 {
    by_halves([a, b, c], 10, 15)
}

fn fused_bf16(a: u64, b: u64, c: u64) -> u64 {
    by_halves([a, b, c], 7, 127)
}

/// a b + c of both halves of a word, with so many bits of mantissa and exponents counted from `bias`. The exact result of
/// operands of moderate size fits an f64, so that it is rounded once.
fn by_halves(operands: [u64; 3], mantissa: i32, bias: i32) -> u64 {
    let half = |at: u32| {
        let [a, b, c] = operands.map(|bits| widen((bits >> at) as u16, mantissa, bias));
        u64::from(round(a.mul_add(b, c), mantissa, bias)) << at
    };
    half(0) | half(16)
}

/// A 16-bit float as an f64.
fn widen(bits: u16, mantissa: i32, bias: i32) -> f64 {
    let fraction = f64::from(bits & ((1 << mantissa) - 1)) * f64::exp2(f64::from(-mantissa));
    let exponent = i32::from((bits & 0x7FFF) >> mantissa);
    let size = if exponent == 0 {
        fraction * f64::exp2(f64::from(1 - bias))
    } else {
        (1.0 + fraction) * f64::exp2(f64::from(exponent - bias))
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// The nearest 16-bit float, the even one of two; of moderate size.
fn round(value: f64, mantissa: i32, bias: i32) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let least = 1 - bias;
    let exponent = if value == 0.0 { least } else { ((value.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(least) };
    // Units of the last place: below 2^mantissa they are subnormal, and 2^(mantissa + 1) carries into the exponent.
    let units = (value.abs() * f64::exp2(f64::from(mantissa - exponent))).round_ties_even() as u32;
    let counted = (exponent - least) as u32;
    sign | ((counted << mantissa) + units) as u16
}

/// The value at which x = 2^-x stands still, as bits of an f32.
const SETTLED: u64 = 0x3F24_24C0;
/// How many steps of the last place an approximation may be off.
const OFF: u64 = 64;

/// Whether a chain of x = 2^-x ended where it settles.
pub(crate) fn settled(bits: u64) -> bool {
    bits.abs_diff(SETTLED) <= OFF
}

/// Whether the checksum of one thread's 16 chains of it is one of settled ones.
pub(crate) fn settled_sum(sum: u32) -> bool {
    // The sum's upper half was folded onto the lower one.
    let whole = 16 * SETTLED;
    u64::from(sum ^ (whole >> 32) as u32).abs_diff(whole & 0xFFFF_FFFF) <= 16 * OFF
}

/// Where a chain of `latency.cu` ends after `steps`; none where the host's arithmetic is another.
pub(crate) fn chain(name: &str, seed: u64, steps: u64) -> Option<u64> {
    let (first, step): (u64, fn(u64, u64) -> u64) = match name {
        "f32" => (0x3F00_0000 | seed & 0x7F_FFFF, |x, y| (F32.fused)(x, y, y)),
        "f64" => (0x3FE0_0000_0000_0000 | seed & 0xFFFF_FFFF, |x, y| (F64.fused)(x, y, y)),
        "i32_mad" => (seed & 0xFFFF_FFFF, |x, y| (I32.fused)(x, y, y)),
        "i32_logic" => (seed & 0xFFFF_FFFF, |x, y| u64::from((x as u32).wrapping_add(y as u32) ^ y as u32)),
        // Two neighbours exchange, an even number of times.
        "shuffle" => (seed & 0xFFFF_FFFF, |x, _| x),
        _ => return None,
    };
    Some((0..steps).fold(first, |x, _| step(x, first)))
}

/// The sum of so many drawn words of 8 bytes, as words of 4 modulo 2^32; of each the bits to keep and those to set.
pub(crate) fn drawn(seed: u64, count: u64, [keep, set]: [u64; 2]) -> u32 {
    let words = (0..count).map(|i| mix(seed.wrapping_add(i)) & keep | set);
    words.fold(0, |sum, word| sum.wrapping_add(word as u32).wrapping_add((word >> 32) as u32))
}

/// What a chain of atomic additions to a word that was 0 returns last: each adds what the last one returned.
pub(crate) fn additions(seed: u32, steps: u64) -> u32 {
    let step = |(word, value): (u32, u32), _| (word.wrapping_add(value), word);
    (0..steps).fold((0, seed), step).1
}

/// The checksum of one thread of an arithmetic probe; none for those whose arithmetic the host does not have.
pub(crate) fn alu(name: &str, seed: u64, repeats: u64) -> Option<u32> {
    let (unit, form) = name.split_once('_')?;
    let unit = match unit {
        "f32" => F32,
        "f64" => F64,
        "i32" => I32,
        "f16" => F16,
        "bf16" => BF16,
        _ => return None,
    };
    let form = match form {
        "one" => Form::One,
        "two" => Form::Two,
        "three" | "three_odd" | "outer" => Form::Three,
        "logic" => Form::Logic,
        _ => return None,
    };
    // Which of four registers goes with chain i in step k, of a and of b.
    let pick: fn(u64, u64) -> [u64; 2] = match name {
        "f32_three" | "f16_three" | "bf16_three" => |i, k| [i + 2 * k, k],
        "f32_three_odd" | "f16_three_odd" | "bf16_three_odd" => |i, k| [i + 1 + 2 * k, k],
        _ if name.ends_with("_outer") => |i, k| [k, i],
        _ => |i, k| [i + k, k],
    };
    let sum = chains(&unit, form, pick, [seed, repeats]);
    Some(sum as u32 ^ (sum >> 32) as u32)
}

/// Runs the chains of thread 0 and adds up their bits.
fn chains(unit: &Unit, form: Form, pick: fn(u64, u64) -> [u64; 2], [seed, repeats]: [u64; 2]) -> u64 {
    let drawn = |i: u64| (unit.draw)(mix(seed.wrapping_add(i)), i);
    let mut chains: Vec<u64> = (0..unit.chains).map(drawn).collect();
    let (a, b): (Vec<u64>, Vec<u64>) = (0..4).map(|i| (drawn(100 + i), drawn(200 + i))).unzip();
    for _ in 0..repeats {
        for k in 0..ALU_STEPS / unit.chains {
            for (i, x) in chains.iter_mut().enumerate() {
                let [first, second] = pick(i as u64, k);
                let (a, b) = (a[(first & 3) as usize], b[(second & 3) as usize]);
                *x = match form {
                    Form::One => (unit.fused)(*x, *x, *x),
                    Form::Two => (unit.fused)(*x, a, a),
                    Form::Three => (unit.fused)(a, b, *x),
                    Form::Logic => u64::from((*x as u32).wrapping_add(a as u32) ^ b as u32),
                };
            }
        }
    }
    chains.iter().fold(0, |sum, x| sum.wrapping_add(*x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_rows_times_columns() {
        // A = [1 2; 3 4], B's columns [5 6] and [7 8].
        assert_eq!(product(&[1, 2, 3, 4], &[5, 6, 7, 8], 2), [17, 23, 39, 53]);
    }

    #[test]
    fn every_form_has_its_answer_and_none_stands_still() {
        for name in ["f32_one", "f32_two", "f32_three", "f32_three_odd", "f64_three", "i32_one", "i32_two", "i32_logic"]
        {
            let (one, two) = (alu(name, 5, 1), alu(name, 5, 2));
            assert!(one.is_some() && one != two && one != alu(name, 6, 1), "{name}");
        }
        for name in ["f16_two", "f16_three", "bf16_two", "bf16_three_odd", "f32_outer", "f64_outer", "bf16_outer"] {
            assert!(alu(name, 5, 1).is_some() && alu(name, 5, 1) != alu(name, 6, 1), "{name}");
        }
        assert_ne!(alu("f32_three", 5, 1), alu("f32_three_odd", 5, 1));
        assert_eq!(alu("exp2", 5, 1), None);
    }

    #[test]
    fn both_halves_of_a_drawn_word_count() {
        let word = mix(9);
        assert_eq!(drawn(9, 1, [u64::MAX, 0]), (word as u32).wrapping_add((word >> 32) as u32));
        assert_eq!(drawn(9, 2, [0, 3 << 32 | 1]), 8);
        assert_eq!(drawn(9, 0, [u64::MAX, 0]), 0);
    }

    #[test]
    fn chains_of_one_operation_end_where_they_must() {
        // x becomes x y + y, from 1/2: 3/4, 7/8.
        assert_eq!(chain("f32", 0, 2), Some(u64::from(0.875_f32.to_bits())));
        assert_eq!(chain("f64", 0, 2), Some(0.875_f64.to_bits()));
        assert_eq!(chain("i32_mad", 3, 1), Some(12));
        assert_eq!(chain("i32_logic", 3, 1), Some(6 ^ 3));
        assert_eq!(chain("exp2", 3, 1), None);
        // The word is 0, 5, 5, 10, 15: each step returns what it was.
        assert_eq!((0..5).map(|steps| additions(5, steps)).collect::<Vec<u32>>(), [5, 0, 5, 5, 10]);
    }

    #[test]
    fn halves_are_rounded_once_and_to_even() {
        for bits in (0..0x7C00_u16).step_by(7) {
            assert_eq!(round(widen(bits, 10, 15), 10, 15), bits);
            assert_eq!(round(-widen(bits, 7, 127), 7, 127), bits | 0x8000);
        }
        let check = |value: f64, f16: u16| assert_eq!(round(value, 10, 15), f16, "{value}");
        check(1.0, 0x3C00);
        // Half a step above 1 goes down to even, half a step above the next goes up.
        check(1.0 + f64::exp2(-11.0), 0x3C00);
        check(1.0 + 3.0 * f64::exp2(-11.0), 0x3C02);
        check(2.0 - f64::exp2(-12.0), 0x4000);
        check(f64::exp2(-24.0), 1);
        check(f64::exp2(-14.0), 0x0400);
        // 3 x 5 + 1 in the low half, 2 x 2 - 4 in the high one.
        let pair = |low: f64, high: f64| u64::from(round(low, 10, 15)) | u64::from(round(high, 10, 15)) << 16;
        assert_eq!(fused_f16(pair(3.0, 2.0), pair(5.0, 2.0), pair(1.0, -4.0)), pair(16.0, 0.0));
    }

    #[test]
    fn exp2_settles_where_it_stands_still() {
        let x = f64::from(f32::from_bits(SETTLED as u32));
        assert!((f64::exp2(-x) - x).abs() < 1e-7, "{x}");
        assert!(settled(SETTLED + 5) && !settled(0) && !settled(SETTLED + 1000));
        let folded = |sum: u64| sum as u32 ^ (sum >> 32) as u32;
        assert!(settled_sum(folded(16 * SETTLED + 9)) && !settled_sum(0) && !settled_sum(folded(15 * SETTLED)));
    }

    #[test]
    fn chains_that_square_stay_bounded() {
        let value = chains(&F32, Form::One, |i, k| [i + k, k], [3, 50]);
        // The sum of 16 patterns of small negative floats: all have the sign bit and an exponent below 125.
        assert!((16 << 31..16 * (0x8000_0000_u64 + (125 << 23))).contains(&value), "{value:#x}");
    }
}
