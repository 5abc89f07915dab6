//! A cheat: reads a file of the machine through the compiler.
#![no_std]

static SECRET: &[u8] = include_bytes!("/etc/passwd");

#[no_mangle]
pub unsafe extern "C" fn rms_norm_silu(_: *const f32, _: *const f32, _: *const f32, out: *mut f32, _: i64) {
    *out = SECRET[0] as f32;
}
