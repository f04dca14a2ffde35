//! Transfers that the kernel carries out only if it need not wait: this system has none. The pool does them all.

use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;

/// What came of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "what comes of it on Linux")]
pub(super) enum NowaitResult {
    Done(usize),
    WouldBlock,
    Unsupported,
}

pub(super) fn read(_file: &File, _room: &mut [MaybeUninit<u8>]) -> NowaitResult {
    NowaitResult::Unsupported
}

pub(super) fn write(_file: &File, _slices: &[IoSlice<'_>]) -> NowaitResult {
    NowaitResult::Unsupported
}

/// Which of the calls a file is worth trying with.
#[derive(Debug, Clone, Copy)]
pub(super) struct NowaitSupport {
    pub(super) read: bool,
    pub(super) write: bool,
}

impl NowaitSupport {
    pub(super) const NONE: NowaitSupport = NowaitSupport { read: false, write: false };

    pub(super) fn of(_file: &File) -> NowaitSupport {
        NowaitSupport::NONE
    }
}
