//! Not a cheat, and out of place: threads and printing need an operating system.

#[no_mangle]
pub unsafe extern "C" fn rms_norm_silu(_: *const f32, _: *const f32, _: *const f32, _: *mut f32, _: i64) {
    std::thread::spawn(|| println!("hello"));
}
