//! The buffer that moves between a future and a thread of the blocking pool.
//!
//! A pool thread may outlive the future, so it cannot borrow the caller's buffer: `copy_to` and
//! `copy_from` copy on the future's side, `read_from` and `write_to` run on the pool thread.

use super::ReadBuf;
use std::io::{self, IoSlice, Read, Write};

/// The default limit of a single transfer through the pool. It bounds the memory of a `Staging`.
pub(crate) const TRANSFER_MAX: usize = 2 * 1024 * 1024;

/// Bytes in transfer. After a read these are the bytes that the future has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// Its length is the largest extent so far, so that memory is zeroed only once.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Staging {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Moves as many bytes to `dst` as fit.
    pub(crate) fn copy_to(&mut self, dst: &mut ReadBuf<'_>) {
        let n = self.len().min(dst.remaining());
        dst.put_slice(&self.bytes[self.start..self.start + n]);
        self.start += n;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Replaces the contents by `n` bytes of `slices`, after skipping the first `skip`.
    pub(crate) fn copy_from(&mut self, slices: &[IoSlice<'_>], mut skip: usize, n: usize) {
        self.clear();
        let mut room = self.room(n);
        for slice in slices {
            let part = &slice[skip.min(slice.len())..];
            skip -= slice.len() - part.len();
            let (filled, rest) = room.split_at_mut(part.len().min(room.len()));
            filled.copy_from_slice(&part[..filled.len()]);
            room = rest;
        }
        debug_assert!(room.is_empty(), "`slices` hold fewer than `skip + n` bytes");
        self.end = n;
    }

    /// Blocks to read up to `n` more bytes, with one successful or failed call.
    ///
    /// If the buffer is not empty, errors are not reported: the next read, after these bytes were
    /// taken, fails again.
    pub(crate) fn read_from(&mut self, source: &mut impl Read, n: usize) -> io::Result<()> {
        debug_assert_eq!(self.start, 0, "a read must not follow bytes that were taken in part");
        let room = self.room(n);
        let result = loop {
            match source.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        match result {
            Ok(n) => self.end += n,
            Err(error) if self.is_empty() => return Err(error),
            Err(_comes_again) => {}
        }
        Ok(())
    }

    /// Blocks to write all bytes, then clears the buffer, also after an error.
    pub(crate) fn write_to(&mut self, sink: &mut impl Write) -> io::Result<()> {
        let result = sink.write_all(&self.bytes[self.start..self.end]);
        self.clear();
        result
    }

    /// Returns the memory for `n` bytes after the present ones.
    fn room(&mut self, n: usize) -> &mut [u8] {
        let wanted = self.end + n;
        if self.bytes.len() < wanted {
            if self.end == 0 {
                // `vec![0; n]` gets zeroed pages from the kernel for free; `resize` would write
                // zeros.
                self.bytes = vec![0; wanted];
            } else {
                self.bytes.resize(wanted, 0);
            }
        }
        &mut self.bytes[self.end..wanted]
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
