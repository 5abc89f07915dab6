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

/// The checksum of one thread of an arithmetic probe; none for those whose arithmetic the host does not have.
pub(crate) fn alu(name: &str, seed: u64, repeats: u64) -> Option<u32> {
    let (unit, form) = name.split_once('_')?;
    let unit = match unit {
        "f32" => F32,
        "f64" => F64,
        "i32" => I32,
        _ => return None,
    };
    let form = match form {
        "one" => Form::One,
        "two" => Form::Two,
        "three" | "three_odd" => Form::Three,
        "logic" => Form::Logic,
        _ => return None,
    };
    // Which of four registers goes with chain i in step k.
    let pick: fn(u64, u64) -> u64 = match name {
        "f32_three" => |i, k| i + 2 * k,
        "f32_three_odd" => |i, k| i + 1 + 2 * k,
        _ => |i, k| i + k,
    };
    let sum = chains(&unit, form, pick, [seed, repeats]);
    Some(sum as u32 ^ (sum >> 32) as u32)
}

/// Runs the chains of thread 0 and adds up their bits.
fn chains(unit: &Unit, form: Form, pick: fn(u64, u64) -> u64, [seed, repeats]: [u64; 2]) -> u64 {
    let drawn = |i: u64| (unit.draw)(mix(seed.wrapping_add(i)), i);
    let mut chains: Vec<u64> = (0..unit.chains).map(drawn).collect();
    let (a, b): (Vec<u64>, Vec<u64>) = (0..4).map(|i| (drawn(100 + i), drawn(200 + i))).unzip();
    for _ in 0..repeats {
        for k in 0..ALU_STEPS / unit.chains {
            for (i, x) in chains.iter_mut().enumerate() {
                let (a, b) = (a[(pick(i as u64, k) & 3) as usize], b[(k & 3) as usize]);
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
        assert_ne!(alu("f32_three", 5, 1), alu("f32_three_odd", 5, 1));
        for name in ["exp2", "f16_three", "bf16_three_odd"] {
            assert_eq!(alu(name, 5, 1), None, "{name}");
        }
    }

    #[test]
    fn chains_of_one_operation_end_where_they_must() {
        // x becomes x y + y, from 1/2: 3/4, 7/8.
        assert_eq!(chain("f32", 0, 2), Some(u64::from(0.875_f32.to_bits())));
        assert_eq!(chain("f64", 0, 2), Some(0.875_f64.to_bits()));
        assert_eq!(chain("i32_mad", 3, 1), Some(12));
        assert_eq!(chain("i32_logic", 3, 1), Some(6 ^ 3));
        assert_eq!(chain("exp2", 3, 1), None);
    }

    #[test]
    fn chains_that_square_stay_bounded() {
        let value = chains(&F32, Form::One, |i, k| i + k, [3, 50]);
        // The sum of 16 patterns of small negative floats: all have the sign bit and an exponent below 125.
        assert!((16 << 31..16 * (0x8000_0000_u64 + (125 << 23))).contains(&value), "{value:#x}");
    }
}
