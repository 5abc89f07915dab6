//! An arm of the race: a process that does an exact amount of work on the core, and nothing else.
//!
//! The amount is the number in [`ROUNDS`], which the race writes into copies of the built file. So two arms differ in
//! these digits alone: the same instructions lie at the same addresses, and more work is nothing but more rounds.

/// Twelve digits after the mark. Zero as built: a copy that nobody wrote into does no work.
#[used]
static ROUNDS: [u8; 28] = *b"rounds-of-an-arm000000000000";

fn main() {
    // Volatile, or the compiler would count with the zeros above.
    // SAFETY: a reference to a static is valid to read.
    let text = unsafe { std::ptr::read_volatile(&raw const ROUNDS) };
    let digits = text.iter().filter(|byte| byte.is_ascii_digit());
    let rounds = digits.fold(0_u64, |number, digit| 10 * number + u64::from(digit - b'0'));
    std::hint::black_box(chain(rounds));
}

/// A chain of multiplications, each of which needs the one before: time is rounds times a multiplier's latency, without
/// memory, branches that could be guessed wrongly, or anything that a second core could help with.
fn chain(rounds: u64) -> u64 {
    let mut x = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..rounds {
        // Knuth's MMIX generator.
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    x
}
