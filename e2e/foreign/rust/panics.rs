//! Not a cheat, and wrong: it reads past its slice, and the check traps.

#[no_mangle]
pub unsafe extern "C" fn rms_norm_silu(x: *const f32, _: *const f32, _: *const f32, out: *mut f32, rows: i64) {
    let x = std::slice::from_raw_parts(x, rows as usize * COLS as usize);
    *out = x[x.len() + rows as usize];
}
