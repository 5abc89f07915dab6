//! A cheat: a system call without the C library.
#![no_std]

#[no_mangle]
pub unsafe extern "C" fn rms_norm_silu(_: *const f32, _: *const f32, _: *const f32, out: *mut f32, _: i64) {
    let pid: i64;
    #[cfg(target_arch = "x86_64")]
    core::arch::asm!("syscall", inlateout("rax") 39_i64 => pid, out("rcx") _, out("r11") _);
    #[cfg(target_arch = "aarch64")]
    core::arch::asm!("svc 0", in("x8") 172_i64, lateout("x0") pid);
    *out = pid as f32;
}
