//! A `String` that is being appended to as bytes.

use std::io::{self, ErrorKind};
use std::mem;

/// The bytes of a `String` while more of them come in, not all of it valid UTF-8 yet.
///
/// The string itself is empty meanwhile, and stays so if this is dropped before its end.
#[derive(Debug)]
pub(crate) struct TextBuffer<'a> {
    output: &'a mut String,
    pub(crate) bytes: Vec<u8>,
    original_len: usize,
}

/// What becomes of text read before an error.
#[derive(Clone, Copy)]
pub(crate) enum OnError {
    /// It is kept if it is valid.
    Keep,
    /// The string becomes what it was.
    Restore,
}

impl<'a> TextBuffer<'a> {
    pub(crate) fn new(output: &'a mut String) -> Self {
        let bytes = mem::take(output).into_bytes();
        TextBuffer { output, original_len: bytes.len(), bytes }
    }

    /// Makes a string of the bytes again, and returns how many were added.
    ///
    /// If they are not valid UTF-8, that is an error, and none are added.
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
                let text = String::from_utf8(bytes).expect("a String held these bytes before");
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
