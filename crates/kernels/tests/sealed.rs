//! Every kernel runs without a system call once it is warm: each in a child under strict seccomp, which kills at the
//! first call that is not `_exit`. Without a harness, since a harness has threads and the children are forks.

/// Sizes that make each kernel do more than it did while it was warmed.
fn sizes(name: &str) -> &'static [i64] {
    match name {
        "attention-gemm" => &[333],
        "rms-norm-silu-two-pass" => &[3],
        "matmul-gemm" => &[8],
        name if ["read", "copy", "triad", "write", "scale", "random"]
            .iter()
            .any(|stream| name.starts_with(&format!("ceiling-{stream}"))) =>
        {
            &[4096, 2]
        }
        _ => &[32],
    }
}

/// Answers a test runner that asks what tests there are: one, never ignored.
fn is_asked_for_list() -> bool {
    let asks = |word: &str| std::env::args().any(|argument| argument == word);
    if asks("--list") && !asks("--ignored") {
        println!("sealed: test");
    }
    asks("--list") || asks("--ignored")
}

#[cfg(target_os = "linux")]
fn main() {
    if is_asked_for_list() {
        return;
    }
    for name in kernels::names().filter(|name| kernels::find(name).is_some()) {
        let status = linux::run_sealed(name, sizes(name));
        assert_eq!(status, 0, "{name} ended with wait status {status}: it made a system call or crashed");
        println!("{name} ... ok");
    }
    assert_ne!(linux::run_sealed("write to a file", &[]), 0, "the seal lets system calls through");
}

#[cfg(not(target_os = "linux"))]
fn main() {
    if is_asked_for_list() {
        return;
    }
    println!("skipped: there is no seccomp here; {} kernels", kernels::names().map(sizes).count());
}

#[cfg(target_os = "linux")]
mod linux {
    use std::hint::black_box;

    /// What the runner leaves on the heap before its seal; more than the kernels take.
    const HEAP: usize = 256 << 20;

    /// Wait status of a child that runs the kernel after sealing itself.
    pub fn run_sealed(name: &str, sizes: &[i64]) -> i32 {
        let mut status = 0;
        // SAFETY: this process has one thread.
        unsafe {
            match libc::fork() {
                0 => child(name, sizes),
                pid => assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid),
            }
        }
        status
    }

    unsafe fn child(name: &str, sizes: &[i64]) -> ! {
        let kernel = kernels::find(name);
        let lens = kernels::buffers(name, sizes).unwrap_or_default();
        let mut memory: Vec<Vec<u8>> = lens.iter().map(|n| vec![0; n + 64]).collect();
        let pointers: Vec<*mut u8> = memory
            .iter_mut()
            .map(|buffer| buffer.as_mut_ptr().wrapping_add(buffer.as_ptr().align_offset(64)))
            .collect();
        if let Some(kernel) = kernel {
            (kernel.warm)();
        }
        unsafe {
            libc::mallopt(libc::M_MMAP_MAX, 0);
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::free(black_box(libc::malloc(black_box(HEAP))));
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT, 0, 0, 0);
            match kernel {
                Some(kernel) => (kernel.entry)(pointers.as_ptr(), sizes.as_ptr()),
                None => drop(std::fs::metadata("/")),
            }
            libc::syscall(libc::SYS_exit, 0);
        }
        unreachable!("the process has ended")
    }
}
