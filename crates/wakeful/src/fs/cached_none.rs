//! Stand-in for `cached.rs` on systems that cannot tell whether an operation on a path would block.
//! All of them run on the blocking pool.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

pub(super) fn open(_path: &Path) -> Option<io::Result<(File, Option<u64>)>> {
    None
}

pub(super) fn wait_for_writer(_fifo: &File) -> io::Result<()> {
    Ok(())
}

pub(super) fn metadata(_path: &Path, _flags: i32) -> Option<io::Result<Metadata>> {
    None
}

pub(super) fn exists(_path: &Path) -> Option<io::Result<bool>> {
    None
}

pub(super) fn set_blocking(_file: &File) {}

pub(super) fn learn_device(_file: &File) -> bool {
    false
}

pub(super) fn learn_device_at(_path: &Path, _metadata: &Metadata) {}
