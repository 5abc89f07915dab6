//! Serves a candidate with the rest of this program taken away: our own kernels lie in the same file, and a candidate
//! that finds them must not get to run them.
//!
//! All that runs here lies in a section of its own, and must not call anything outside it but the C library: by then
//! it is gone. Unoptimised builds can't promise that, and serve as the kernels are served.

#![expect(clippy::inline_always, reason = "what is not inlined lies in the part that is gone")]

use crate::pool::{self, Pool};
use protocol::{
    Control, MAX_ARGUMENTS, MAX_CALLS, OP_CALL, OP_PREPARE, STATE_FAULT, STATE_READY, STATE_SANDBOX_FAILED,
};
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Where the control page is, for the handler of faults.
pub static CONTROL: AtomicPtr<Control> = AtomicPtr::new(null_mut());

/// A candidate's entry.
pub type Entry = unsafe extern "C" fn(*const *mut u8, *const i64);

/// Whether this build can do without the rest of the program.
pub const CAN_BE_ALONE: bool = !cfg!(debug_assertions);

unsafe extern "C" {
    #[link_name = "__start_rooflab_serve"]
    static START: u8;
    #[link_name = "__stop_rooflab_serve"]
    static STOP: u8;
}

/// What is served, and what is done first.
pub struct Plan {
    /// The page shared with the judge.
    pub control: *mut Control,
    /// The candidate's entry.
    pub entry: Entry,
    /// Its preparation.
    pub prepare: Option<Entry>,
    /// Where the arguments lie; null for those that there are not.
    pub bases: [*mut u8; MAX_ARGUMENTS],
    /// The threads beside this one; null where there are none.
    pub pool: *mut Pool,
    /// Address and length of what is taken away.
    pub hidden: Vec<(usize, usize)>,
    /// The seal.
    pub seal: Vec<seccompiler::sock_filter>,
}

/// This program's instructions but for the pages of this section: address and length.
pub fn rest_of_program() -> Vec<(usize, usize)> {
    const PAGE: usize = 4096;
    let mut segments: Vec<(usize, usize)> = Vec::new();
    // SAFETY: the callback gets the vector that is passed, and nothing else runs.
    unsafe { libc::dl_iterate_phdr(Some(first_program), (&raw mut segments).cast()) };
    let ours = ((&raw const START).addr() & !(PAGE - 1), (&raw const STOP).addr().next_multiple_of(PAGE));
    let mut rest = Vec::new();
    for (begin, end) in segments {
        for (from, to) in [(begin, end.min(ours.0)), (begin.max(ours.1), end)] {
            if from < to {
                rest.push((from, to - from));
            }
        }
    }
    rest
}

/// Collects the executable segments of the first file that the loader names, which is the program itself.
unsafe extern "C" fn first_program(info: *mut libc::dl_phdr_info, _size: usize, out: *mut libc::c_void) -> i32 {
    const PAGE: usize = 4096;
    // SAFETY: the loader's own list, and the vector of `rest_of_program`.
    unsafe {
        let segments = &mut *out.cast::<Vec<(usize, usize)>>();
        for i in 0..usize::from((*info).dlpi_phnum) {
            let header = &*(*info).dlpi_phdr.add(i);
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                let begin = (*info).dlpi_addr as usize + header.p_vaddr as usize;
                segments.push((begin & !(PAGE - 1), (begin + header.p_memsz as usize).next_multiple_of(PAGE)));
            }
        }
    }
    1
}

/// Takes the rest of the program away, seals the process, and serves batches. Never returns.
///
/// # Safety
/// `plan` is what the judge and the loader have given; the process has one thread beside those of the pool, which wait.
#[unsafe(link_section = "rooflab_serve")]
#[inline(never)]
pub unsafe fn serve(plan: &Plan) -> ! {
    // SAFETY: the caller's promise. The judge writes the order only while this process is stopped; it is read through
    // volatile pointers since nothing else here tells the compiler that it changes.
    unsafe {
        let control = plan.control;
        let (mut part, parts) = (plan.hidden.as_ptr(), plan.hidden.len());
        for _ in 0..parts {
            if libc::mprotect(with_exposed_provenance_mut((*part).0), (*part).1, libc::PROT_NONE) != 0 {
                give_up(control);
            }
            part = part.add(1);
        }
        let program = libc::sock_fprog { len: plan.seal.len() as u16, filter: plan.seal.as_ptr().cast_mut().cast() };
        let (set, all) =
            (libc::SECCOMP_SET_MODE_FILTER as libc::c_long, libc::SECCOMP_FILTER_FLAG_TSYNC as libc::c_long);
        if libc::syscall(libc::SYS_seccomp, set, all, &raw const program) != 0 {
            give_up(control);
        }
        for i in 0..MAX_ARGUMENTS {
            (*control).bases[i] = plan.bases[i].addr() as u64;
        }
        (*control).ground = [(&raw const START).addr() as u64, (&raw const STOP).addr() as u64];
        let (go, done) = (&raw const (*control).go, &raw const (*control).done.0);
        let mut last = (*go).load(Ordering::Acquire);
        (*control).state.0.store(STATE_READY, Ordering::Release);
        loop {
            let mut sequence = (*go).load(Ordering::Acquire);
            while sequence == last {
                std::hint::spin_loop();
                sequence = (*go).load(Ordering::Acquire);
            }
            last = sequence;
            obey(plan);
            pool::wait_for_all(plan.pool);
            settle();
            (*done).store(sequence, Ordering::Release);
        }
    }
}

/// # Safety
/// As `serve`.
#[inline(always)]
unsafe fn obey(plan: &Plan) {
    // SAFETY: none is claimed for the calls: this is the candidate. The process around it is the protection.
    unsafe {
        let order = &raw const (*plan.control).order;
        let function = match (&raw const (*order).op).read_volatile() {
            OP_CALL => Some(plan.entry),
            OP_PREPARE => plan.prepare,
            _ => None,
        };
        let Some(function) = function else { return };
        let calls = ((&raw const (*order).calls).read_volatile() as usize).min(MAX_CALLS);
        let sizes = (&raw const (*order).sizes).read_volatile();
        for call in 0..calls {
            let mut buffers = [null_mut::<u8>(); MAX_ARGUMENTS];
            for (i, buffer) in buffers.iter_mut().enumerate() {
                let offset = (&raw const (*order).offsets[call][i]).read_volatile() as usize;
                *buffer = plan.bases[i].wrapping_add(offset);
            }
            function(buffers.as_ptr(), sizes.as_ptr());
        }
    }
}

/// Waits until all stores are seen, those past the caches too: the judge looks at outputs in the instant of "done".
#[inline(always)]
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: an instruction of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// # Safety
/// `control` is the page.
#[inline(always)]
unsafe fn give_up(control: *mut Control) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        const NOTE: &[u8] = b"the program's own code could not be taken away from the candidate\0";
        std::ptr::copy_nonoverlapping(NOTE.as_ptr(), (&raw mut (*control).note).cast::<u8>(), NOTE.len());
        (*control).state.0.store(STATE_SANDBOX_FAILED, Ordering::Release);
        loop {
            libc::syscall(libc::SYS_exit_group, 0);
        }
    }
}

/// A fault is written down and ends the process: the only thing that a handler can do behind the seal.
#[unsafe(link_section = "rooflab_serve")]
pub extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    /// Where `si_addr` lies on 64-bit Linux; the method that gives it lies in the part that is gone.
    const ADDRESS: usize = 16;
    let control = CONTROL.load(Ordering::Acquire);
    // SAFETY: the control page stays mapped; exit_group is the one call that the seal allows.
    unsafe {
        (*control).fault = info.cast::<u8>().add(ADDRESS).cast::<u64>().read_unaligned();
        (*control).state.0.store(STATE_FAULT, Ordering::Release);
        libc::syscall(libc::SYS_exit_group, 128 + signal);
    }
}
