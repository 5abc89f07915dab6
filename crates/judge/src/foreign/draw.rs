//! Fresh tensors: standard normal floats, small integers, coin flips.
//!
//! Must not take entropy: the caller draws a new key for every tensor of every call.

use ::foreign::Dtype;

/// Fills `out` with values for the secret `key`.
pub fn random(dtype: Dtype, key: u64, out: &mut [u8]) {
    let mut stream = Stream(key);
    for place in out.chunks_exact_mut(dtype.size()) {
        dtype.write(value(dtype, &mut stream), place);
    }
}

fn value(dtype: Dtype, stream: &mut Stream) -> f64 {
    match dtype {
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 => stream.normal(),
        Dtype::Bool => (stream.next() & 1) as f64,
        Dtype::U8 => (stream.next() & 0xff) as f64,
        Dtype::I8 => (stream.next() & 0xff) as f64 - 128.0,
        Dtype::I16 | Dtype::I32 | Dtype::I64 => (stream.next() & 0x7ff) as f64 - 1024.0,
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The sum of four 32-bit uniforms, scaled to variance 1: within 3.5 standard deviations.
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.next(), self.next());
        let parts = [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
        let sum: f64 = parts.iter().map(|part| f64::from(*part) / 4_294_967_296.0 - 0.5).sum();
        sum * 3.0_f64.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(dtype: Dtype, key: u64) -> Vec<f64> {
        let mut bytes = vec![0; 4096 * dtype.size()];
        random(dtype, key, &mut bytes);
        bytes.chunks_exact(dtype.size()).map(|element| dtype.read(element)).collect()
    }

    #[test]
    fn floats_are_standard_normal() {
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
            let drawn = values(dtype, 7);
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
            // Five standard errors of 4096 draws.
            assert!(mean.abs() < 0.08 && (variance - 1.0).abs() < 0.1, "{dtype:?}: {mean} {variance}");
        }
    }

    #[test]
    fn another_key_is_other_data_and_integers_are_small() {
        assert_ne!(values(Dtype::F32, 1), values(Dtype::F32, 2));
        assert_eq!(values(Dtype::F32, 1), values(Dtype::F32, 1));
        assert!(values(Dtype::I32, 1).iter().all(|x| (-1024.0..1024.0).contains(x) && x.fract() == 0.0));
        assert!(values(Dtype::Bool, 1).iter().all(|x| *x == 0.0 || *x == 1.0));
    }
}
