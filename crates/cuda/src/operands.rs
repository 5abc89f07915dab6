//! Operands of the tensor cores: which bits of a random word are drawn, and small integers in every format.

/// A format of the tensor cores' operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    Tf32,
    F8,
    I8,
}

impl Format {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::F16, Self::Bf16, Self::Tf32, Self::F8, Self::I8];

    /// As in figures and kernels.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::F8 => "f8",
            Self::I8 => "i8",
        }
    }

    /// Bytes of an operand.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
            Self::F8 | Self::I8 => 1,
        }
    }

    /// Operands in 32 bytes, which is what one instruction takes of K.
    pub(crate) fn depth(self) -> usize {
        32 / self.bytes()
    }

    /// Of 8 random bytes: the bits to keep, and the bits to set. Floats get a random sign and mantissa and one of four
    /// exponents, from 1/8 to 2 in size; bytes are whatever comes.
    pub(crate) fn masks(self) -> [u64; 2] {
        match self {
            Self::F16 => [0x8FFF_8FFF_8FFF_8FFF, 0x3000_3000_3000_3000],
            Self::Bf16 => [0x81FF_81FF_81FF_81FF, 0x3E00_3E00_3E00_3E00],
            Self::Tf32 => [0x81FF_E000_81FF_E000, 0x3E00_0000_3E00_0000],
            Self::F8 => [0x9F9F_9F9F_9F9F_9F9F, 0x2020_2020_2020_2020],
            Self::I8 => [u64::MAX, 0],
        }
    }

    /// The largest size of the integers of the check against the host. Where the format has the bits for it, products fill
    /// its mantissas: a unit that dropped some would be found out. 8-bit floats are added up with few bits on some devices,
    /// and stay small.
    pub(crate) fn reach(self) -> i32 {
        match self {
            Self::Bf16 | Self::F16 => 255,
            Self::Tf32 => 400,
            Self::F8 => 4,
            Self::I8 => 127,
        }
    }

    /// Appends an integer of at most [`Self::reach`] in size, or 8, which the format holds exactly.
    pub(crate) fn append(self, value: i32, to: &mut Vec<u8>) {
        let single = (value as f32).to_bits();
        match self {
            Self::Tf32 => to.extend(single.to_le_bytes()),
            Self::Bf16 => to.extend(((single >> 16) as u16).to_le_bytes()),
            // 10 bits of mantissa, exponents counted from 15.
            Self::F16 => to.extend(narrow(single, 10, 15).to_le_bytes()),
            // e4m3: 3 bits of mantissa, exponents counted from 7.
            Self::F8 => {
                let half = narrow(single, 3, 7);
                to.push((half & 0x7F) as u8 | if value < 0 { 0x80 } else { 0 });
            }
            Self::I8 => to.push(value as i8 as u8),
        }
    }
}

/// A normal f32 that fits, with fewer bits: sign at bit 15, then the exponent counted from `bias`.
fn narrow(single: u32, mantissa: u32, bias: u32) -> u16 {
    if single << 1 == 0 {
        return 0;
    }
    let sign = (single >> 16 & 0x8000) as u16;
    let exponent = (single >> 23 & 0xFF) + bias - 127;
    let kept = single >> (23 - mantissa) & ((1 << mantissa) - 1);
    sign | (exponent << mantissa | kept) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of the format, from its bits.
    fn value(format: Format, bits: u32) -> f64 {
        let float = |mantissa: u32, exponents: u32, bias: i32| {
            let sign = if bits >> (mantissa + exponents) & 1 == 1 { -1.0 } else { 1.0 };
            let (exponent, fraction) = (bits >> mantissa & ((1 << exponents) - 1), bits & ((1 << mantissa) - 1));
            let fraction = f64::from(fraction) / f64::from(1_u32 << mantissa);
            if exponent == 0 {
                return sign * fraction * 2.0_f64.powi(1 - bias);
            }
            sign * (1.0 + fraction) * 2.0_f64.powi(exponent as i32 - bias)
        };
        match format {
            Format::F16 => float(10, 5, 15),
            Format::Bf16 => float(7, 8, 127),
            Format::Tf32 => float(23, 8, 127),
            Format::F8 => float(3, 4, 7),
            Format::I8 => f64::from(bits as u8 as i8),
        }
    }

    fn bits(bytes: &[u8]) -> u32 {
        bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte))
    }

    #[test]
    fn integers_survive_every_format() {
        for format in Format::ALL {
            let reach = format.reach().max(8);
            for integer in -reach..=reach {
                let mut bytes = Vec::new();
                format.append(integer, &mut bytes);
                assert_eq!(bytes.len(), format.bytes(), "{format:?}");
                assert_eq!(value(format, bits(&bytes)), f64::from(integer), "{format:?}");
            }
        }
    }

    #[test]
    fn drawn_floats_are_normal_and_of_moderate_size() {
        for format in Format::ALL.into_iter().filter(|format| *format != Format::I8) {
            let [keep, set] = format.masks();
            for seed in 0..200 {
                let word = (crate::random::mix(seed) & keep | set).to_le_bytes();
                for bytes in word.chunks(format.bytes()) {
                    let size = value(format, bits(bytes)).abs();
                    assert!((0.125..2.0).contains(&size), "{format:?}: {size}");
                }
            }
        }
    }
}
