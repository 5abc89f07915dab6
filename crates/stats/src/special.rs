//! The few special functions that the tests need, so that nothing has to be linked for them.

use std::f64::consts::PI;

/// ln Gamma(x) for x > 0, by Lanczos' series (g = 7, 9 terms; relative error about 1e-15).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const SERIES: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum = SERIES.iter().enumerate().fold(0.999_999_999_999_809_9, |sum, (i, c)| sum + c / (x + i as f64 + 1.0));
    let t = x + G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Regularised incomplete beta function I_x(a, b): the distribution function of Beta(a, b).
pub(crate) fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly on one side of the mean only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_cdf(b, a, 1.0 - x);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    front.exp() / a * beta_fraction(a, b, x)
}

/// Lentz's method for the continued fraction of the incomplete beta function.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..500 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The x at which Beta(a, b) has mass `p` below it.
pub(crate) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if beta_cdf(a, b, middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Two-sided p of Student's t with `df` degrees of freedom.
pub(crate) fn t_two_sided(t: f64, df: f64) -> f64 {
    beta_cdf(df / 2.0, 0.5, df / (df + t * t))
}

/// Distribution function of the standard normal, to about 1e-14.
pub fn normal_cdf(z: f64) -> f64 {
    // Phi(z) is Student's t in the limit; the complementary error function by its own series and fraction.
    let tail = upper_tail(z.abs());
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// P(Z > z) for z >= 0.
fn upper_tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    if z < 3.0 {
        // Phi(z) - 1/2 = density x (z + z^3/3 + z^5/15 + ...).
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term > sum * 1e-17 {
            k += 2.0;
            term *= z * z / k;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    // Laplace's fraction: density / (z + 1/(z + 2/(z + 3/...))).
    density / (1..80).rev().fold(z, |fraction, k| z + f64::from(k) / fraction)
}

/// The z below which the standard normal has mass `p`, 0 < p < 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..70 {
        let middle = 0.5 * (low + high);
        if upper_tail(-middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Beta, ContinuousCDF, Normal, StudentsT};

    fn check(got: f64, expected: f64, what: &str) {
        assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{what}: {got} is not {expected}");
    }

    #[test]
    fn agrees_with_statrs() {
        for (a, b) in [(0.5, 0.5), (1.0, 1.0), (2.0, 7.0), (199.0, 2.0), (30.0, 30.0), (0.5, 40.0)] {
            let reference = Beta::new(a, b).unwrap();
            for x in [0.001, 0.1, 0.37, 0.5, 0.9, 0.999] {
                check(beta_cdf(a, b, x), reference.cdf(x), "beta");
            }
        }
        let normal = Normal::new(0.0, 1.0).unwrap();
        for z in [-6.0, -3.01, -2.99, -1.0, -0.1, 0.0, 0.7, 2.576, 3.5, 8.0] {
            check(normal_cdf(z), normal.cdf(z), "normal");
        }
        for (t, df) in [(0.0, 3.0), (1.5, 4.0), (-2.7, 11.3), (4.0, 200.0)] {
            let t_cdf = StudentsT::new(0.0, 1.0, df).unwrap().cdf(-f64::abs(t));
            check(t_two_sided(t, df), 2.0 * t_cdf, "t");
        }
    }

    #[test]
    fn quantiles_invert() {
        check(normal_quantile(0.995), 2.575_829_303_548_901, "z");
        check(normal_quantile(0.9), 1.281_551_565_544_6, "z");
        check(normal_quantile(1e-6), -4.753_424_308_822_9, "z");
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        for p in [0.001, 0.3, 0.97] {
            check(beta_cdf(3.0, 9.0, beta_quantile(3.0, 9.0, p)), p, "beta");
        }
        assert_eq!((beta_cdf(2.0, 2.0, -1.0), beta_cdf(2.0, 2.0, 1.0)), (0.0, 1.0));
        check(ln_gamma(5.0), 24.0_f64.ln(), "gamma");
        check(ln_gamma(0.1), 2.252_712_651_734_206, "gamma");
    }
}
