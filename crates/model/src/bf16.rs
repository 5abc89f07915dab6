//! bfloat16: the upper half of an f32, with 8 significant bits.
//!
//! Must not know who stores it.

#![expect(clippy::inline_always, reason = "what is not inlined into a path with vectors is not compiled for them")]

/// The nearest bf16 to a finite value, to even in a tie.
#[inline(always)]
pub fn nearest(x: f32) -> [u8; 2] {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    ((rounded >> 16) as u16).to_ne_bytes()
}

/// The value.
#[inline(always)]
pub fn widened(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_ne_bytes(bytes)) << 16)
}

/// The neighbour above in magnitude, or below; zero stays, and so does the largest.
pub fn neighbour(bytes: [u8; 2], away: bool) -> [u8; 2] {
    const MAGNITUDE: u16 = 0x7fff;
    const LARGEST: u16 = 0x7f7f;
    let bits = u16::from_ne_bytes(bytes);
    match (bits & MAGNITUDE, away) {
        (0, _) | (LARGEST.., true) => bytes,
        (_, true) => (bits + 1).to_ne_bytes(),
        (_, false) => (bits - 1).to_ne_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding() {
        let check = |x: f32, expected: f32| assert_eq!(widened(nearest(x)), expected, "{x}");
        check(1.0, 1.0);
        check(-3.0, -3.0);
        check(0.0, 0.0);
        // A step at 1 is 1/128: a tie goes to the even one.
        check(1.0 + 1.0 / 256.0, 1.0);
        check(1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0);
        check(1.0 + 1.1 / 256.0, 1.0 + 1.0 / 128.0);
        check(-1.0 - 1.1 / 256.0, -1.0 - 1.0 / 128.0);
    }

    #[test]
    fn neighbours_are_a_step_away() {
        let check = |x: f32, away: bool, expected: f32| assert_eq!(widened(neighbour(nearest(x), away)), expected);
        check(1.0, true, 1.0 + 1.0 / 128.0);
        check(1.0, false, 1.0 - 1.0 / 256.0);
        check(-1.0, true, -1.0 - 1.0 / 128.0);
        check(0.0, true, 0.0);
        check(0.0, false, 0.0);
        let largest = f32::from_bits(0x7f7f_0000);
        check(largest, true, largest);
    }
}
