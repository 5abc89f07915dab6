//! Element types of other people's tensors, and their values as f64.
//!
//! Must not compare anything: tolerances belong to the judge.

use model::bf16;
use serde::{Deserialize, Serialize};

/// An element type that NumPy or PyTorch on a CPU computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dtype {
    /// IEEE double.
    F64,
    /// IEEE single.
    F32,
    /// IEEE half.
    F16,
    /// bfloat16.
    Bf16,
    /// One byte with 3 bits of fraction, to 448, without an infinity.
    #[serde(rename = "f8_e4m3")]
    F8E4M3,
    /// One byte with 2 bits of fraction, to 57,344.
    #[serde(rename = "f8_e5m2")]
    F8E5M2,
    /// 64-bit integer.
    I64,
    /// 32-bit integer.
    I32,
    /// 16-bit integer.
    I16,
    /// 8-bit integer.
    I8,
    /// 8-bit unsigned integer.
    U8,
    /// One byte, 0 or 1.
    Bool,
}

/// Every type: ours, theirs, bytes, its name in C.
const TABLE: [(Dtype, &str, &str, usize, &str); 12] = [
    (Dtype::F64, "f64", "float64", 8, "double"),
    (Dtype::F32, "f32", "float32", 4, "float"),
    (Dtype::F16, "f16", "float16", 2, "uint16_t"),
    (Dtype::Bf16, "bf16", "bfloat16", 2, "uint16_t"),
    (Dtype::F8E4M3, "f8_e4m3", "float8_e4m3fn", 1, "uint8_t"),
    (Dtype::F8E5M2, "f8_e5m2", "float8_e5m2", 1, "uint8_t"),
    (Dtype::I64, "i64", "int64", 8, "int64_t"),
    (Dtype::I32, "i32", "int32", 4, "int32_t"),
    (Dtype::I16, "i16", "int16", 2, "int16_t"),
    (Dtype::I8, "i8", "int8", 1, "int8_t"),
    (Dtype::U8, "u8", "uint8", 1, "uint8_t"),
    (Dtype::Bool, "bool", "bool", 1, "uint8_t"),
];

impl Dtype {
    fn row(self) -> &'static (Self, &'static str, &'static str, usize, &'static str) {
        TABLE.iter().find(|row| row.0 == self).expect("every type has a row")
    }

    /// The type that the benchmarks call so.
    pub fn of(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// Its short name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The benchmarks' name.
    pub fn long_name(self) -> &'static str {
        self.row().2
    }

    /// Size of one element, bytes.
    pub fn size(self) -> usize {
        self.row().3
    }

    /// Its name in C; floats below 32 bits are their bits.
    pub fn c(self) -> &'static str {
        self.row().4
    }

    /// Whether it holds a fraction.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::Bf16 | Self::F8E4M3 | Self::F8E5M2)
    }

    /// Whether NumPy knows it by itself; PyTorch knows them all.
    pub fn is_numpys(self) -> bool {
        !matches!(self, Self::Bf16 | Self::F8E4M3 | Self::F8E5M2)
    }

    /// The value of one element; 64-bit integers beyond 2^53 lose their last digits.
    ///
    /// # Panics
    /// When `bytes` is not one element.
    pub fn read(self, bytes: &[u8]) -> f64 {
        match self {
            Self::F64 => f64::from_ne_bytes(bytes.try_into().expect("8 bytes")),
            Self::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
            Self::F16 => HALF.read(u16::from_ne_bytes(bytes.try_into().expect("2 bytes"))),
            Self::F8E4M3 => E4M3.read(u16::from(bytes[0])),
            Self::F8E5M2 => E5M2.read(u16::from(bytes[0])),
            Self::Bf16 => f64::from(bf16::widened(bytes.try_into().expect("2 bytes"))),
            Self::I64 => i64::from_ne_bytes(bytes.try_into().expect("8 bytes")) as f64,
            Self::I32 => f64::from(i32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
            Self::I16 => f64::from(i16::from_ne_bytes(bytes.try_into().expect("2 bytes"))),
            Self::I8 => f64::from(bytes[0].cast_signed()),
            Self::U8 | Self::Bool => f64::from(bytes[0]),
        }
    }

    /// Writes the nearest value of this type.
    ///
    /// # Panics
    /// When `place` is not one element.
    pub fn write(self, value: f64, place: &mut [u8]) {
        match self {
            Self::F64 => place.copy_from_slice(&value.to_ne_bytes()),
            Self::F32 => place.copy_from_slice(&(value as f32).to_ne_bytes()),
            Self::F16 => place.copy_from_slice(&HALF.write(value).to_ne_bytes()),
            Self::F8E4M3 => place[0] = E4M3.write(value) as u8,
            Self::F8E5M2 => place[0] = E5M2.write(value) as u8,
            // No NaN is ever drawn.
            Self::Bf16 => place.copy_from_slice(&bf16::nearest(value as f32)),
            Self::I64 => place.copy_from_slice(&(value as i64).to_ne_bytes()),
            Self::I32 => place.copy_from_slice(&(value as i32).to_ne_bytes()),
            Self::I16 => place.copy_from_slice(&(value as i16).to_ne_bytes()),
            Self::I8 => place.copy_from_slice(&(value as i8).to_ne_bytes()),
            Self::U8 => place[0] = value as u8,
            Self::Bool => place[0] = u8::from(value != 0.0),
        }
    }
}

/// A small float: sign, exponent, fraction, from the highest bit on.
struct Small {
    exponent_bits: u32,
    fraction_bits: u32,
    /// What is added to the exponent.
    bias: i32,
    /// The largest finite value.
    largest: f64,
    /// Whether the highest exponent holds infinity and NaN alone. Else it holds numbers too, and all ones are a NaN.
    has_infinity: bool,
}

const HALF: Small = Small { exponent_bits: 5, fraction_bits: 10, bias: 15, largest: 65_504.0, has_infinity: true };
/// The 8-bit formats of the Open Compute Project (OCP OFP8, 2023), as PyTorch's `float8_e4m3fn` and `float8_e5m2`.
const E4M3: Small = Small { exponent_bits: 4, fraction_bits: 3, bias: 7, largest: 448.0, has_infinity: false };
const E5M2: Small = Small { exponent_bits: 5, fraction_bits: 2, bias: 15, largest: 57_344.0, has_infinity: true };

impl Small {
    fn read(&self, bits: u16) -> f64 {
        let (ones, steps) = ((1 << self.exponent_bits) - 1, 1_u16 << self.fraction_bits);
        let exponent = bits >> self.fraction_bits & ones;
        let (fraction, is_negative) = (bits & (steps - 1), bits >> (self.exponent_bits + self.fraction_bits) & 1 == 1);
        let part = f64::from(fraction) / f64::from(steps);
        let size = match i32::from(exponent) {
            0 => part * 2.0_f64.powi(1 - self.bias),
            _ if exponent == ones && self.has_infinity => {
                if fraction == 0 {
                    f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            _ if exponent == ones && fraction == steps - 1 => f64::NAN,
            exponent => (1.0 + part) * 2.0_f64.powi(exponent - self.bias),
        };
        if is_negative { -size } else { size }
    }

    /// The nearest, ties to even; what is drawn is finite, and beyond the largest it stays there.
    fn write(&self, value: f64) -> u16 {
        let sign = u16::from(value.is_sign_negative()) << (self.exponent_bits + self.fraction_bits);
        let size = value.abs().min(self.largest);
        // Below the smallest normal number the step stays that of the subnormal ones.
        let least = 1 - self.bias;
        let exponent = size.max(2.0_f64.powi(least)).log2().floor() as i32;
        let steps = (size * 2.0_f64.powi(self.fraction_bits as i32 - exponent)).round_ties_even() as u16;
        // A significand that rounds up to the next power carries into the exponent by itself.
        sign | (((exponent - least) as u16) << self.fraction_bits).wrapping_add(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let check = |dtype: Dtype, value: f64, expected: f64| {
            let mut place = vec![0; dtype.size()];
            dtype.write(value, &mut place);
            assert_eq!(dtype.read(&place), expected, "{dtype:?} {value}");
        };
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F8E4M3, Dtype::F8E5M2] {
            for value in [0.0, 1.0, -1.5, 0.25, 2.0, -3.0, 0.015_625] {
                check(dtype, value, value);
            }
        }
        check(Dtype::F16, 1.0 + 1.0 / 4096.0, 1.0);
        check(Dtype::F16, 1.999_9, 2.0);
        check(Dtype::F16, 2.0_f64.powi(-24), 2.0_f64.powi(-24));
        check(Dtype::F16, 1e6, 65_504.0);
        check(Dtype::Bf16, 1.0 + 1.0 / 256.0, 1.0);
        check(Dtype::Bf16, 1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0);
        // The tables of the OCP's paper: largest, smallest normal, smallest subnormal, steps between.
        check(Dtype::F8E4M3, 1e6, 448.0);
        check(Dtype::F8E4M3, -2.0_f64.powi(-9), -2.0_f64.powi(-9));
        check(Dtype::F8E4M3, 17.0, 16.0);
        check(Dtype::F8E4M3, 19.0, 20.0);
        check(Dtype::F8E4M3, 1.97, 2.0);
        check(Dtype::F8E5M2, 1e6, 57_344.0);
        check(Dtype::F8E5M2, 2.0_f64.powi(-16), 2.0_f64.powi(-16));
        check(Dtype::F8E5M2, 9.0, 8.0);
        check(Dtype::I8, -7.0, -7.0);
        check(Dtype::Bool, 3.0, 1.0);
        check(Dtype::I64, -1e9, -1e9);
    }

    #[test]
    fn special_values() {
        assert_eq!(HALF.read(0x7c00), f64::INFINITY);
        assert!(HALF.read(0x7c01).is_nan());
        assert_eq!(HALF.read(0x3c00), 1.0);
        assert_eq!((E4M3.read(0x7e), E4M3.read(0x08), E4M3.read(0x01)), (448.0, 2.0_f64.powi(-6), 2.0_f64.powi(-9)));
        assert!(E4M3.read(0x7f).is_nan() && E4M3.read(0xff).is_nan());
        assert_eq!((E5M2.read(0x7b), E5M2.read(0x7c), E5M2.read(0xfc)), (57_344.0, f64::INFINITY, f64::NEG_INFINITY));
        assert!(E5M2.read(0x7d).is_nan());
    }

    #[test]
    fn every_finite_byte_reads_and_writes_back() {
        for small in [&E4M3, &E5M2] {
            for bits in 0..=255 {
                let value = small.read(bits);
                assert!(!value.is_finite() || small.write(value) == bits, "{bits:#x} is {value}");
            }
        }
    }

    #[test]
    fn names() {
        let check = |name: &str, expected: Option<Dtype>| assert_eq!(Dtype::of(name), expected, "{name}");
        check("bfloat16", Some(Dtype::Bf16));
        check("bool", Some(Dtype::Bool));
        check("float8_e4m3fn", Some(Dtype::F8E4M3));
        check("float4_e2m1", None);
    }
}
