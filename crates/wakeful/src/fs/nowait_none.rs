//! Transfers that the kernel carries out only if it need not wait: this system has none. The pool does them all.

use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;

/// What came of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "what comes of it on Linux")]
pub(super) enum Now {
    Done(usize),
    Later,
    Never,
}

pub(super) fn read(_file: &File, _room: &mut [MaybeUninit<u8>]) -> Now {
    Now::Never
}

pub(super) fn write(_file: &File, _slices: &[IoSlice<'_>]) -> Now {
    Now::Never
}

/// Which of the calls a file is worth trying with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortcuts {
    pub(super) read: bool,
    pub(super) write: bool,
}

impl Shortcuts {
    pub(super) const NONE: Shortcuts = Shortcuts { read: false, write: false };

    pub(super) fn of(_file: &File) -> Shortcuts {
        Shortcuts::NONE
    }
}
