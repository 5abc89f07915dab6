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

/// A chain of steps, each of which needs the one before: time is rounds times the latency of a shift, an exclusive or and
/// a multiplication, without memory, branches that could be guessed wrongly, or anything that a second core could help
/// with. Not affine, or the compiler would do several rounds in one.
fn chain(rounds: u64) -> u64 {
    let mut x = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..rounds {
        x = (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    x
}
