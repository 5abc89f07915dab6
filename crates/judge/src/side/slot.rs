//! One argument's memory, and where each call of a batch has its part of it.
//!
//! Must not know what lies there.

use crate::memory::Memory;
use crate::python::Array;
use problems::Role;
use std::rc::Rc;

/// One argument of a side.
#[derive(Clone)]
pub struct Slot {
    /// Who writes it, and when.
    pub role: Role,
    /// Its memory.
    pub memory: Rc<Memory>,
    /// Bytes of one call.
    pub bytes: usize,
    /// Bytes from one call's to the next call's; 0 where all calls share one.
    pub stride: usize,
    /// What it is to an interpreter.
    pub array: Option<Rc<Array>>,
}

/// Where arguments lie in their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One after the other, a canary between.
    Pool,
    /// One call, each argument flush against the guard after it.
    Back,
}

impl Slot {
    /// Where a call's argument begins in its memory.
    pub fn offset(&self, call: usize, placement: Placement) -> usize {
        match placement {
            Placement::Pool => call * self.stride,
            // Pointers are promised to be 64-byte aligned; the slack after an odd size is under a cache line.
            Placement::Back => (self.memory.len() - self.bytes) & !63,
        }
    }

    /// What follows the argument up to the next call's or the guard.
    pub fn canary(&self, call: usize, placement: Placement) -> &mut [u8] {
        let end = self.offset(call, placement) + self.bytes;
        let length = match placement {
            Placement::Pool => self.stride - self.bytes,
            Placement::Back => self.memory.len() - end,
        };
        self.memory.part(end, length & !3)
    }
}
