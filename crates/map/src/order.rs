//! Ceilings that have an order on every machine: no narrower unit is faster than a wider one, no farther level than a
//! nearer one, no core's share of all than a core alone. Pure.
//!
//! A ceiling that another figure beats was measured in a bad moment or by a bad probe; its owner measures it again.

use crate::trust::TOLERANCE;

/// Units, the faster one first.
pub(crate) const UNITS: [(&str, &str); 12] = [
    ("f32", "f32-avx2"),
    ("f32-avx2", "f32-sse2"),
    ("f32-sse2", "f32-scalar"),
    ("f64", "f64-avx2"),
    ("f64-avx2", "f64-sse2"),
    ("f64-sse2", "f64-scalar"),
    ("i8-vnni", "i8-avx-vnni"),
    ("bf16-matrix", "bf16-matrix-l2"),
    ("i8-matrix", "i8-matrix-l2"),
    ("bf16-matrix", "bf16-dot"),
    ("i8-matrix", "i8-vnni"),
    ("bf16-matrix-resident", "bf16-matrix"),
];

/// Levels of memory, the faster one first.
pub(crate) const LEVELS: [(&str, &str); 3] = [("L1", "L2"), ("L2", "LLC"), ("LLC", "DRAM")];

/// By how much the slower of a pair beats the faster, if both are there and it does by more than noise.
pub(crate) fn beaten(faster: Option<f64>, slower: Option<f64>) -> Option<f64> {
    Some(slower? / faster?).filter(|&ratio| ratio > TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_clearly_beaten_is() {
        assert_eq!(beaten(Some(100.0), Some(110.0)), Some(1.1));
        assert_eq!(beaten(Some(100.0), Some(101.0)), None);
        assert_eq!(beaten(Some(100.0), Some(50.0)), None);
        assert_eq!((beaten(None, Some(1.0)), beaten(Some(1.0), None)), (None, None));
    }
}
