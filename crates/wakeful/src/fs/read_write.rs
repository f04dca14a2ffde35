//! Files read and written as a whole.

use super::cached;
use super::dispatch::{charge_for_bytes, on_pool, try_inline};
use super::nowait::{self, NowaitResult};
use super::owned_bytes::OwnedBytes;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::task::Context;

/// Larger files are left to the pool: to fill fresh memory takes its time.
const INLINE_MAX: u64 = 256 * 1024;

/// Reads a whole file.
///
/// One of moderate size that the kernel has in memory is read on the spot.
///
/// # Errors
/// As [`std::fs::read`].
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let manifest = wakeful::fs::read("Cargo.toml").await?;
/// assert!(!manifest.is_empty());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_as("fs::read", path.as_ref(), Ok).await
}

/// Reads a whole file of text.
///
/// One of moderate size that the kernel has in memory is read on the spot.
///
/// # Errors
/// As [`std::fs::read_to_string`].
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let manifest = wakeful::fs::read_to_string("Cargo.toml").await?;
/// assert!(manifest.contains("[package]"));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    read_as("fs::read_to_string", path.as_ref(), |bytes| {
        String::from_utf8(bytes).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")
        })
    })
    .await
}

/// Writes a whole file; makes it if there is none, and replaces what is in it if there is one.
///
/// Once begun it goes on in the background even if the future is dropped.
///
/// # Errors
/// As [`std::fs::write`].
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-write-{}", std::process::id()));
/// wakeful::fs::write(&path, "hello").await?;
/// assert_eq!(wakeful::fs::read(&path).await?, b"hello");
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let contents = OwnedBytes::of(contents);
    on_pool("fs::write", move || std::fs::write(path, contents)).await
}

/// What came of beginning to read a file on the spot.
enum InlineRead {
    Complete(Vec<u8>),
    /// The rest is not in memory, or too much, or cannot be read in this way.
    Partial(File, Vec<u8>),
    /// Its writer is to be waited for.
    Fifo(File),
}

async fn read_as<T: Send + 'static>(
    call: &'static str,
    path: &Path,
    convert: fn(Vec<u8>) -> io::Result<T>,
) -> io::Result<T> {
    match try_inline(call, |cx| read_inline(path, cx)).await {
        Some(inline_read) => match inline_read? {
            InlineRead::Complete(bytes) => convert(bytes),
            InlineRead::Partial(file, bytes) => {
                on_pool(call, move || convert(read_rest(file, bytes)?)).await
            }
            InlineRead::Fifo(fifo) => {
                on_pool(call, move || {
                    cached::wait_for_writer(&fifo)?;
                    convert(read_rest(fifo, Vec::new())?)
                })
                .await
            }
        },
        None => {
            let path = path.to_owned();
            on_pool(call, move || {
                let file = File::open(path)?;
                cached::learn_device(&file);
                convert(read_rest(file, Vec::new())?)
            })
            .await
        }
    }
}

/// Opens a file, and reads as much as can be read on the spot.
fn read_inline(path: &Path, cx: &mut Context<'_>) -> Option<io::Result<InlineRead>> {
    let (file, len) = match cached::open(path)? {
        Ok((file, Some(len))) => (file, len),
        Ok((fifo, None)) => return Some(Ok(InlineRead::Fifo(fifo))),
        Err(error) => return Some(Err(error)),
    };
    if len > INLINE_MAX {
        return Some(Ok(InlineRead::Partial(file, Vec::new())));
    }
    // Files of `/proc` have bytes, and a length of zero.
    let len = len as usize;
    let mut bytes = Vec::with_capacity(len.max(1));
    while bytes.len() < len.max(1) {
        let room = bytes.spare_capacity_mut();
        match nowait::read(&file, room) {
            NowaitResult::Done(0) => break,
            NowaitResult::Done(n) => {
                let filled = bytes.len() + n;
                // SAFETY: the kernel initialized `n` more.
                unsafe { bytes.set_len(filled) };
            }
            NowaitResult::WouldBlock | NowaitResult::Unsupported => {
                return Some(Ok(InlineRead::Partial(file, bytes)));
            }
        }
    }
    if bytes.len() > len {
        return Some(Ok(InlineRead::Partial(file, bytes)));
    }
    charge_for_bytes(bytes.len(), cx);
    Some(Ok(InlineRead::Complete(bytes)))
}

/// Reads to the end of the file, whatever its length is. Blocks.
fn read_rest(mut file: File, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
