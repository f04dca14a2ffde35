//! The buffer between a future and a thread of the pool, which cannot borrow the future's own.

use super::ReadBuf;
use std::io::{self, IoSlice, Read, Write};

/// How much of a transfer is put on the pool at once, unless somebody says otherwise.
pub(crate) const TRANSFER_MAX: usize = 2 * 1024 * 1024;

/// Bytes on their way. Once a transfer has ended they are those read and not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// Initialized as far as it ever got, so that memory is zeroed once.
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

    /// Hands over as much as there is room for.
    pub(crate) fn copy_to(&mut self, dst: &mut ReadBuf<'_>) {
        let n = self.len().min(dst.remaining());
        dst.put_slice(&self.bytes[self.start..self.start + n]);
        self.start += n;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Takes `n` bytes out of `slices`, after the first `skip`, in place of what there was.
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
        debug_assert!(room.is_empty(), "the slices are shorter than said");
        self.end = n;
    }

    /// Reads up to `n` bytes more, by one call. Blocks.
    ///
    /// With bytes there already an error is not told: it will come again when they have been taken.
    pub(crate) fn read_from(&mut self, source: &mut impl Read, n: usize) -> io::Result<()> {
        debug_assert_eq!(self.start, 0, "read on with bytes half taken");
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

    /// Writes all bytes, after which there are none, whatever happened. Blocks.
    pub(crate) fn write_to(&mut self, sink: &mut impl Write) -> io::Result<()> {
        let result = sink.write_all(&self.bytes[self.start..self.end]);
        self.clear();
        result
    }

    /// Memory for `n` bytes after those that are there.
    fn room(&mut self, n: usize) -> &mut [u8] {
        let wanted = self.end + n;
        if self.bytes.len() < wanted {
            if self.end == 0 {
                // Memory that the kernel gives is zero already, which `resize` would not know.
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
