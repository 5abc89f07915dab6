//! The table of kernels: name, code, and the work of one call. A kernel is added as one line here.

use crate::isa::isa;
use crate::{Kernel, amx, attention, exp, fma, matmul, memory, norm, stores, sweep, units};

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
    "ceiling-f32-scalar" units::ceiling_f32_scalar, warm [1], if units::any, scalar_work;
    "ceiling-f64-scalar" units::ceiling_f64_scalar, warm [1], if units::any, scalar_work;
    "ceiling-f32-sse2" units::ceiling_f32_sse2, warm [1], if units::any, |s| sse_work(s, 4);
    "ceiling-f64-sse2" units::ceiling_f64_sse2, warm [1], if units::any, |s| sse_work(s, 2);
    "ceiling-f32-avx2" units::ceiling_f32_avx2, warm [1], if units::fused, |s| narrow_work(s, 8);
    "ceiling-f64-avx2" units::ceiling_f64_avx2, warm [1], if units::fused, |s| narrow_work(s, 4);
    "ceiling-i8-avx-vnni" units::ceiling_i8_avx_vnni, warm [1], if units::avx_vnni, |s| narrow_work(s, 32);
    "ceiling-i8-vnni" units::ceiling_i8_vnni, warm [1], if units::avx512_vnni, |s| wide_work(s, 64);
    "ceiling-i8-dot" units::ceiling_i8_dot, warm [1], if units::dot, |s| unit_work(s, units::NEON, 16);
    "ceiling-bf16-dot" units::ceiling_bf16_dot, warm [1], if units::avx512_bf16, |s| wide_work(s, 32);
    "ceiling-f16" units::ceiling_f16, warm [1], if units::avx512_fp16, |s| wide_work(s, 32);
    "ceiling-bf16-matrix" amx::ceiling_bf16_matrix, warm [1], if amx::available, amx_flop;
    "ceiling-bf16-matrix-l2" amx::ceiling_bf16_matrix_l2, warm [1], if amx::available, amx_flop_l2;
    "ceiling-bf16-matrix-resident" amx::ceiling_bf16_matrix_resident, warm [1], if amx::available, amx_flop;
    "ceiling-i8-matrix" amx::ceiling_i8_matrix, warm [1], if amx::bytes_available, amx_ops;
    "ceiling-i8-matrix-l2" amx::ceiling_i8_matrix_l2, warm [1], if amx::bytes_available, amx_ops_l2;
    "sweep-accumulators-1" sweep::accumulators_1, warm [1], if sweep::runs, sweep_work;
    "sweep-accumulators-2" sweep::accumulators_2, warm [1], if sweep::runs, sweep_work;
    "sweep-accumulators-4" sweep::accumulators_4, warm [1], if sweep::runs, sweep_work;
    "sweep-accumulators-8" sweep::accumulators_8, warm [1], if sweep::runs, sweep_work;
    "sweep-accumulators-12" sweep::accumulators_12, warm [1], if sweep::runs, sweep_work;
    "sweep-operands-1" sweep::operands_1, warm [1], if sweep::runs, sweep_work;
    "sweep-operands-2" sweep::operands_2, warm [1], if sweep::runs, sweep_work;
    "ceiling-exp" exp::ceiling_exp, warm [1], if || true, exp_work;
    "ceiling-read" memory::read, warm [128, 1], if || true, read_work;
    "ceiling-copy" memory::copy, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-copy-stream" memory::copy_stream, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-triad" memory::triad, warm [128, 1], if || true, |s| stream_work(s, 3);
    "ceiling-triad-stream" memory::triad_stream, warm [128, 1], if || true, |s| stream_work(s, 3);
    "ceiling-write" stores::write, warm [128, 1], if || true, |s| stream_work(s, 1);
    "ceiling-write-stream" stores::write_stream, warm [128, 1], if || true, |s| stream_work(s, 1);
    "ceiling-scale" stores::scale, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-scale-stream" stores::scale_stream, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-copy-string" stores::copy_string, warm [128, 1], if || true, |s| stream_work(s, 2);
    "ceiling-random" stores::random, warm [128, 1], if || true, random_work;
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

/// A pass of `products`, each of which multiplies and adds `lanes` elements.
fn unit_work(sizes: &[u64], products: u64, lanes: u64) -> Work {
    let flop = (sizes[0] * products * lanes * 2) as f64;
    Work { flop, buffers: vec![fma::DATA, fma::OUT], ..Work::default() }
}

/// A pass of SSE2.
fn sse_work(sizes: &[u64], lanes: u64) -> Work {
    unit_work(sizes, units::SSE, lanes)
}

/// A pass with ten accumulators.
fn narrow_work(sizes: &[u64], lanes: u64) -> Work {
    unit_work(sizes, units::NARROW, lanes)
}

/// A pass with sixteen accumulators.
fn wide_work(sizes: &[u64], lanes: u64) -> Work {
    unit_work(sizes, units::WIDE, lanes)
}

fn scalar_work(sizes: &[u64]) -> Work {
    unit_work(sizes, units::scalar_products(), 1)
}

fn sweep_work(sizes: &[u64]) -> Work {
    unit_work(sizes, sweep::PRODUCTS, sweep::lanes())
}

/// Steps over `data` bytes, four tiles of a KiB each, at `step` operations a step.
fn amx_work(sizes: &[u64], data: usize, step: f64) -> Work {
    let flop = sizes[0] as f64 * (data / 4096) as f64 * step;
    Work { flop, buffers: vec![data, amx::OUT], ..Work::default() }
}

fn amx_flop(sizes: &[u64]) -> Work {
    amx_work(sizes, amx::DATA, amx::STEP_FLOP)
}

fn amx_flop_l2(sizes: &[u64]) -> Work {
    amx_work(sizes, amx::DATA_L2, amx::STEP_FLOP)
}

fn amx_ops(sizes: &[u64]) -> Work {
    amx_work(sizes, amx::DATA, amx::STEP_OPS)
}

fn amx_ops_l2(sizes: &[u64]) -> Work {
    amx_work(sizes, amx::DATA_L2, amx::STEP_OPS)
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

/// Whole lines move, however few bytes of them are named.
fn random_work(sizes: &[u64]) -> Work {
    let bytes = (sizes[1] * stores::READS * 64) as f64;
    Work { bytes, buffers: vec![4 * sizes[0] as usize, 64], ..Work::default() }
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
    const STREAMS: [&str; 6] =
        ["ceiling-read", "ceiling-copy", "ceiling-triad", "ceiling-write", "ceiling-scale", "ceiling-random"];
    STREAMS.iter().any(|stem| name.starts_with(stem))
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
        check(flop("ceiling-i8-vnni", &[1]), 1024.0 * 128.0);
        check(flop("ceiling-i8-matrix", &[1]), 4.0 * 4.0 * 2.0 * 16.0 * 16.0 * 64.0);
        check(bytes("ceiling-random", &[1024, 2]), 2.0 * 2048.0 * 64.0);
        assert_eq!(flop("ceiling-f32", &[2]), flop("ceiling-f32", &[1]).map(|x| 2.0 * x));
        assert_eq!(flop("nothing", &[1]), None);
        assert_eq!(bytes("ceiling-copy", &[128]), None);
    }
}
