//! Honest: the norm in sixteen partial sums, then the gate, through slices whose bounds are checked.

const LANES: usize = 16;

#[no_mangle]
pub unsafe extern "C" fn rms_norm_silu(x: *const f32, gate: *const f32, weight: *const f32, out: *mut f32, rows: i64) {
    let cols = COLS as usize;
    let all = rows as usize * cols;
    let (x, gate) = (std::slice::from_raw_parts(x, all), std::slice::from_raw_parts(gate, all));
    let (weight, out) = (std::slice::from_raw_parts(weight, cols), std::slice::from_raw_parts_mut(out, all));
    for row in 0..rows as usize {
        let at = row * cols;
        one_row(&x[at..at + cols], &gate[at..at + cols], weight, &mut out[at..at + cols]);
    }
}

fn one_row(x: &[f32], gate: &[f32], weight: &[f32], out: &mut [f32]) {
    let mut part = [0.0_f32; LANES];
    for chunk in x.chunks_exact(LANES) {
        for lane in 0..LANES {
            part[lane] += chunk[lane] * chunk[lane];
        }
    }
    let sum: f32 = part.iter().sum();
    let inverse = 1.0 / (sum / x.len() as f32 + 1e-6).sqrt();
    for j in 0..x.len() {
        out[j] = gate[j] / (1.0 + (-gate[j]).exp()) * (x[j] * inverse * weight[j]);
    }
}
