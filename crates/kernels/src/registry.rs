//! The table of kernels: name, code, and the work of one call. A kernel is added as one line here.

use crate::isa::isa;
use crate::{Kernel, amx, attention, exp, fma, matmul, memory, norm};

/// The first size, no less than 0.
pub(crate) unsafe fn first(sizes: *const i64) -> u64 {
    unsafe { *sizes }.max(0) as u64
}

/// What one call does, from its sizes.
struct Row {
    name: &'static str,
    entry: crate::Entry,
    warm: fn(),
    /// Whether this machine can run it.
    runs: fn() -> bool,
    work: fn(&[u64]) -> Work,
}

/// Work of a call, and the room that its buffers need.
#[derive(Default)]
struct Work {
    flop: f64,
    bytes: f64,
    exps: f64,
    cycles: f64,
    buffers: Vec<usize>,
}

/// Runs `name` once on the least data.
fn warm(name: &str, sizes: &[i64]) {
    let Some(row) = row(name).filter(|row| (row.runs)()) else { return };
    // 4 KiB over, to start at a multiple of 64.
    let mut memory: Vec<Vec<u8>> = (row.work)(&unsigned(sizes)).buffers.iter().map(|&n| vec![0; n + 64]).collect();
    let pointers: Vec<*mut u8> =
        memory.iter_mut().map(|buffer| buffer.as_mut_ptr().wrapping_add(buffer.as_ptr().align_offset(64))).collect();
    // SAFETY: the buffers are as large as the table says for these sizes.
    unsafe { (row.entry)(pointers.as_ptr(), sizes.as_ptr()) };
}

fn unsigned(sizes: &[i64]) -> Vec<u64> {
    sizes.iter().map(|&size| size.max(0) as u64).collect()
}

/// Rows of the table: name, entry, sizes to warm with, whether it runs here, work.
macro_rules! table {
    ($($name:literal $entry:path, warm $warm:expr, if $runs:expr, $work:expr;)*) => {
        static ROWS: &[Row] = &[$(Row {
            name: $name,
            entry: $entry,
            warm: || {
                attention::reserve();
                warm($name, &$warm);
            },
            runs: $runs,
            work: $work,
        }),*];
    };
}

table! {
    "attention-gemm" attention::attention_gemm, warm [130], if || true, attention_work;
    "rms-norm-silu-two-pass" norm::rms_norm_silu, warm [1], if || true, norm_work;
    "matmul-gemm" matmul::matmul_gemm, warm [16], if || true, matmul_work;
    "ceiling-f32" fma::ceiling_f32, warm [1], if || true, |s| fma_work(s, 4);
    "ceiling-f64" fma::ceiling_f64, warm [1], if || true, |s| fma_work(s, 8);
    "ceiling-bf16-matrix" amx::ceiling_bf16_matrix, warm [1], if amx::available, amx_work;
    "ceiling-bf16-matrix-resident" amx::ceiling_bf16_matrix_resident, warm [1], if amx::available, amx_work;
    "ceiling-exp" exp::ceiling_exp, warm [1], if || true, exp_work;
    "ceiling-read" memory::read, warm [128, 1], if || true, read_work;
    "ceiling-copy" memory::copy, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-copy-stream" memory::copy_stream, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-triad" memory::triad, warm [128, 1], if || true, |s| stream_work(s, 3);
    "ceiling-triad-stream" memory::triad_stream, warm [128, 1], if || true, |s| stream_work(s, 3);
    "chase" memory::chase, warm [16], if || true, chase_work;
    "chain-add" fma::chain_add, warm [1], if || true, chain_work;
}

fn attention_work(sizes: &[u64]) -> Work {
    let len = sizes[0] as f64;
    let pairs = len * (len + 1.0) / 2.0 * attention::HEADS_Q as f64;
    let head = 4 * sizes[0] as usize * attention::DIM;
    let (q, kv) = (attention::HEADS_Q * head, attention::HEADS_KV * head);
    Work {
        flop: pairs * 4.0 * attention::DIM as f64,
        exps: pairs,
        bytes: (2 * q + 2 * kv) as f64,
        buffers: vec![q, kv, kv, q, 4 * (sizes[0] * sizes[0]) as usize],
        cycles: 0.0,
    }
}

fn norm_work(sizes: &[u64]) -> Work {
    let n = sizes[0] as usize * norm::COLS;
    // Square and add; scale and weight; the sigmoid's addition and division, and the product.
    let flop = 7.0 * n as f64;
    let bytes = (3 * 4 * n + 4 * norm::COLS) as f64;
    Work { flop, bytes, exps: n as f64, buffers: vec![4 * n, 4 * n, 4 * norm::COLS, 4 * n], cycles: 0.0 }
}

fn matmul_work(sizes: &[u64]) -> Work {
    let m = sizes[0] as usize;
    let (x, w, y) = (4 * m * matmul::K, 4 * matmul::K * matmul::N, 4 * m * matmul::N);
    let flop = 2.0 * (m * matmul::K * matmul::N) as f64;
    Work { flop, bytes: (x + w + y) as f64, buffers: vec![x, w, w, y], ..Work::default() }
}

fn fma_work(sizes: &[u64], element: usize) -> Work {
    let flop = sizes[0] as f64 * fma::Shape::of(isa()).flop(element);
    Work { flop, buffers: vec![fma::DATA, fma::OUT], ..Work::default() }
}

fn amx_work(sizes: &[u64]) -> Work {
    Work { flop: sizes[0] as f64 * amx::FLOP, buffers: vec![amx::DATA, amx::OUT], ..Work::default() }
}

fn exp_work(sizes: &[u64]) -> Work {
    let exps = sizes[0] as f64 * exp::PROBE_LEN as f64;
    Work { exps, buffers: vec![4 * exp::PROBE_LEN; 2], ..Work::default() }
}

/// Bytes of the whole blocks among `elements`.
fn block_bytes(elements: u64) -> u64 {
    elements / memory::BLOCK * memory::BLOCK * 4
}

fn read_work(sizes: &[u64]) -> Work {
    let bytes = block_bytes(sizes[0]) as f64 * sizes[1] as f64;
    Work { bytes, buffers: vec![4 * sizes[0] as usize, 1024], ..Work::default() }
}

fn stream_work(sizes: &[u64], arrays: usize) -> Work {
    let bytes = block_bytes(sizes[0]) as f64 * arrays as f64 * sizes[1] as f64;
    Work { bytes, buffers: vec![4 * sizes[0] as usize; arrays], ..Work::default() }
}

fn chase_work(sizes: &[u64]) -> Work {
    // The cycle is the caller's; one line is the least, and its first offset must be 0.
    let loads = sizes[0] / memory::CHASE * memory::CHASE;
    Work { bytes: 8.0 * loads as f64, buffers: vec![64, 64], ..Work::default() }
}

fn chain_work(sizes: &[u64]) -> Work {
    Work { cycles: (sizes[0] * fma::CHAIN as u64) as f64, buffers: vec![64], ..Work::default() }
}

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The work of `name` at `sizes`, if it is a kernel and gets as many sizes as it reads.
fn work(name: &str, sizes: &[i64]) -> Option<Work> {
    let needed = if stream(name) { 2 } else { 1 };
    (sizes.len() >= needed).then_some(())?;
    Some((row(name)?.work)(&unsigned(sizes)))
}

/// Whether the sizes are elements and repeats.
fn stream(name: &str) -> bool {
    ["ceiling-read", "ceiling-copy", "ceiling-triad"].iter().any(|stem| name.starts_with(stem))
}

/// The kernel named, if there is one and this machine can run it. Call it before the seal: the tile probes ask the
/// operating system for a permission.
pub fn find(name: &str) -> Option<Kernel> {
    let row = row(name).filter(|row| (row.runs)())?;
    Some(Kernel { name: row.name, entry: row.entry, prepare: None, warm: row.warm })
}

/// Names of all kernels, those that this machine cannot run included.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// FLOP of one call on this machine; a fused multiply-add is two. None for an unknown name or too few sizes.
pub fn flop(name: &str, sizes: &[i64]) -> Option<f64> {
    Some(work(name, sizes)?.flop)
}

/// Bytes that one call names: every input read, every output written, and nothing that the caches add.
pub fn bytes(name: &str, sizes: &[i64]) -> Option<f64> {
    Some(work(name, sizes)?.bytes)
}

/// Evaluations of exp of one call.
pub fn exps(name: &str, sizes: &[i64]) -> Option<f64> {
    Some(work(name, sizes)?.exps)
}

/// Core cycles of one call, where that is what the kernel is made of (`chain-add`), and 0 elsewhere.
pub fn cycles(name: &str, sizes: &[i64]) -> Option<f64> {
    Some(work(name, sizes)?.cycles)
}

/// Bytes that each buffer of one call needs, in order. `chase` says 64 for its cycle: the caller makes it.
pub fn buffers(name: &str, sizes: &[i64]) -> Option<Vec<usize>> {
    Some(work(name, sizes)?.buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_warms() {
        for name in names() {
            if let Some(kernel) = find(name) {
                assert_eq!(kernel.name, name);
                (kernel.warm)();
            }
        }
        assert!(find("ceiling-unobtainium").is_none());
    }

    #[test]
    fn work_counts() {
        let check = |actual: Option<f64>, expected: f64| assert_eq!(actual, Some(expected));
        check(flop("attention-gemm", &[2]), 16.0 * 3.0 * 512.0);
        check(exps("attention-gemm", &[2]), 16.0 * 3.0);
        check(flop("matmul-gemm", &[1]), 2.0 * 1024.0 * 3072.0);
        check(bytes("ceiling-triad", &[1024, 2]), 2.0 * 3.0 * 4096.0);
        check(bytes("ceiling-read", &[130, 1]), 512.0);
        check(exps("ceiling-exp", &[3]), 3.0 * 2048.0);
        check(cycles("chain-add", &[3]), 3072.0);
        assert_eq!(flop("ceiling-f32", &[2]), flop("ceiling-f32", &[1]).map(|x| 2.0 * x));
        assert_eq!(flop("nothing", &[1]), None);
        assert_eq!(bytes("ceiling-copy", &[128]), None);
    }
}
