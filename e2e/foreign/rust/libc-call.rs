//! A cheat: a system call by way of the C library.
#![no_std]

extern "C" {
    fn getpid() -> i32;
}

#[no_mangle]
pub unsafe extern "C" fn rms_norm_silu(_: *const f32, _: *const f32, _: *const f32, out: *mut f32, _: i64) {
    *out = getpid() as f32;
}
