//! Element types of other people's tensors, and their values as f64.
//!
//! Must not compare anything: tolerances belong to the judge.

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
const TABLE: [(Dtype, &str, &str, usize, &str); 10] = [
    (Dtype::F64, "f64", "float64", 8, "double"),
    (Dtype::F32, "f32", "float32", 4, "float"),
    (Dtype::F16, "f16", "float16", 2, "uint16_t"),
    (Dtype::Bf16, "bf16", "bfloat16", 2, "uint16_t"),
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

    /// Its name in C; 16-bit floats are their bits.
    pub fn c(self) -> &'static str {
        self.row().4
    }

    /// Whether it holds a fraction.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::Bf16)
    }

    /// The value of one element; 64-bit integers beyond 2^53 lose their last digits.
    ///
    /// # Panics
    /// When `bytes` is not one element.
    pub fn read(self, bytes: &[u8]) -> f64 {
        match self {
            Self::F64 => f64::from_ne_bytes(bytes.try_into().expect("8 bytes")),
            Self::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
            Self::F16 => half_to_f64(u16::from_ne_bytes(bytes.try_into().expect("2 bytes"))),
            Self::Bf16 => {
                let bits = u16::from_ne_bytes(bytes.try_into().expect("2 bytes"));
                f64::from(f32::from_bits(u32::from(bits) << 16))
            }
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
            Self::F16 => place.copy_from_slice(&f64_to_half(value).to_ne_bytes()),
            Self::Bf16 => {
                let bits = (value as f32).to_bits();
                // To nearest, ties to even; no NaN is ever drawn.
                let rounded = bits + 0x7fff + ((bits >> 16) & 1);
                place.copy_from_slice(&((rounded >> 16) as u16).to_ne_bytes());
            }
            Self::I64 => place.copy_from_slice(&(value as i64).to_ne_bytes()),
            Self::I32 => place.copy_from_slice(&(value as i32).to_ne_bytes()),
            Self::I16 => place.copy_from_slice(&(value as i16).to_ne_bytes()),
            Self::I8 => place.copy_from_slice(&(value as i8).to_ne_bytes()),
            Self::U8 => place[0] = value as u8,
            Self::Bool => place[0] = u8::from(value != 0.0),
        }
    }
}

fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2.0_f64.powi(exponent - 15),
    }
}

/// Finite values inside the range of normal halves, and smaller ones: what is drawn.
fn f64_to_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs().min(65_504.0);
    // Below the smallest normal number the step stays that of the subnormal ones.
    let exponent = size.max(2.0_f64.powi(-14)).log2().floor() as i32;
    let steps = (size * 2.0_f64.powi(10 - exponent)).round_ties_even() as u16;
    // A significand that rounds up to the next power carries into the exponent by itself.
    sign | (((exponent + 14) as u16) << 10).wrapping_add(steps)
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
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
            for value in [0.0, 1.0, -1.5, 0.25, 2.0, -3.0, 0.007_812_5] {
                check(dtype, value, value);
            }
        }
        check(Dtype::F16, 1.0 + 1.0 / 4096.0, 1.0);
        check(Dtype::F16, 1.999_9, 2.0);
        check(Dtype::F16, 2.0_f64.powi(-24), 2.0_f64.powi(-24));
        check(Dtype::F16, 1e6, 65_504.0);
        check(Dtype::Bf16, 1.0 + 1.0 / 256.0, 1.0);
        check(Dtype::Bf16, 1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0);
        check(Dtype::I8, -7.0, -7.0);
        check(Dtype::Bool, 3.0, 1.0);
        check(Dtype::I64, -1e9, -1e9);
    }

    #[test]
    fn special_halves() {
        assert_eq!(half_to_f64(0x7c00), f64::INFINITY);
        assert!(half_to_f64(0x7c01).is_nan());
        assert_eq!(half_to_f64(0x3c00), 1.0);
    }

    #[test]
    fn names() {
        let check = |name: &str, expected: Option<Dtype>| assert_eq!(Dtype::of(name), expected, "{name}");
        check("bfloat16", Some(Dtype::Bf16));
        check("bool", Some(Dtype::Bool));
        check("float8_e4m3fn", None);
    }
}
