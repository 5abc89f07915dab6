//! Finds output elements that a call left unwritten or made non-finite.
//!
//! Must not judge values: `tolerance` does.

/// Index of the first f32 of `output` that still holds the bits of `poison`, is NaN or infinite; none when all were
/// written and are finite. Bounded by memory.
pub fn scan(output: &[u8], poison: u32) -> Option<usize> {
    // A block that fits the first-level cache, so that the second pass over a bad one costs nothing.
    const BLOCK: usize = 4096;
    output.chunks(BLOCK).enumerate().find_map(|(i, block)| {
        if words(block).fold(0, |bad, word| bad | u32::from(is_bad(word, poison))) == 0 {
            return None;
        }
        words(block).position(|word| is_bad(word, poison)).map(|j| i * (BLOCK / 4) + j)
    })
}

fn words(block: &[u8]) -> impl Iterator<Item = u32> {
    block.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// All exponent bits set: NaN or infinity.
const EXPONENT: u32 = 0x7f80_0000;

#[expect(clippy::needless_bitwise_bool, reason = "a branch would keep the loop from vectors")]
fn is_bad(word: u32, poison: u32) -> bool {
    (word == poison) | (word & EXPONENT == EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first() {
        let poison = 0xdead_beef_u32;
        let check = |at: &[(usize, u32)], expected: Option<usize>| {
            let mut data = vec![1.5f32.to_bits(); 5000];
            for (i, bits) in at {
                data[*i] = *bits;
            }
            let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(scan(&bytes, poison), expected, "{at:?}");
        };
        check(&[], None);
        check(&[(0, poison)], Some(0));
        check(&[(4999, poison)], Some(4999));
        check(&[(1024, f32::NAN.to_bits()), (3000, poison)], Some(1024));
        check(&[(1023, f32::NEG_INFINITY.to_bits())], Some(1023));
        check(&[(7, f32::MAX.to_bits()), (8, 0), (9, f32::MIN_POSITIVE.to_bits() - 1)], None);
    }
}
