//! Stand-in for `nowait.rs` on systems without `RWF_NOWAIT`. All transfers run on the blocking
//! pool.

use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;

/// The result of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "constructed only on Linux")]
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

/// Which of the two transfers are worth trying with a file.
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
