//! Appending bytes to a `String` and validating them at the end.

use std::io::{self, ErrorKind};
use std::mem;

/// The bytes of a `String` while a read appends to them. They need not be valid UTF-8 yet.
///
/// The string itself is empty until [`finish`](Self::finish) is called, and stays empty if the
/// `TextBuffer` is dropped before.
#[derive(Debug)]
pub(crate) struct TextBuffer<'a> {
    output: &'a mut String,
    pub(crate) bytes: Vec<u8>,
    original_len: usize,
}

/// What `finish` does with text that was read before a reader's error.
#[derive(Clone, Copy)]
pub(crate) enum OnError {
    /// Keeps the text if it is valid UTF-8.
    Keep,
    /// Restores the string as it was before the read.
    Restore,
}

impl<'a> TextBuffer<'a> {
    pub(crate) fn new(output: &'a mut String) -> Self {
        let bytes = mem::take(output).into_bytes();
        TextBuffer { output, original_len: bytes.len(), bytes }
    }

    /// Converts the bytes back to a string, and returns how many were added.
    ///
    /// If they are not valid UTF-8, this returns an error and the string is as it was before the
    /// read.
    pub(crate) fn finish(
        &mut self,
        result: io::Result<()>,
        on_error: OnError,
    ) -> io::Result<usize> {
        let (text, invalid) = match String::from_utf8(mem::take(&mut self.bytes)) {
            Ok(text) => (text, None),
            Err(error) => {
                let invalid = error.utf8_error();
                let mut bytes = error.into_bytes();
                bytes.truncate(self.original_len);
                let text = String::from_utf8(bytes).expect("these bytes come from a String");
                (text, Some(invalid))
            }
        };
        *self.output = text;
        match (result, invalid) {
            (Err(error), _) => {
                if matches!(on_error, OnError::Restore) {
                    self.output.truncate(self.original_len);
                }
                Err(error)
            }
            (Ok(()), Some(invalid)) => Err(io::Error::new(ErrorKind::InvalidData, invalid)),
            (Ok(()), None) => Ok(self.output.len() - self.original_len),
        }
    }
}
