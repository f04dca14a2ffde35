//! Reading and writing whole files.

use super::cached;
use super::dispatch::{charge_for_bytes, on_pool, try_inline};
use super::nowait::{self, NowaitResult};
use super::owned_bytes::OwnedBytes;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::task::Context;

/// The length up to which a file is read inline. Larger files are read on the pool: the page faults
/// of a large new buffer would hold up the worker.
const INLINE_MAX: u64 = 256 * 1024;

/// Reads a whole file into a vector.
///
/// A file of up to 256 KiB that is in the page cache is read inline, without a trip to the blocking
/// pool.
///
/// # Errors
/// Returns the errors of [`std::fs::read`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
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

/// Reads a whole file into a string.
///
/// A file of up to 256 KiB that is in the page cache is read inline, without a trip to the blocking
/// pool.
///
/// # Errors
/// Returns the errors of [`std::fs::read_to_string`], including one of kind
/// [`InvalidData`](std::io::ErrorKind::InvalidData) if the file is not valid UTF-8.
///
/// # Panics
/// Panics if the future is polled outside a runtime.
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

/// Writes `contents` to a file.
///
/// Creates the file if it does not exist, and replaces its contents if it does.
///
/// Once the future was polled, the write completes in the background even if the future is dropped.
///
/// # Errors
/// Returns the errors of [`std::fs::write`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
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

/// The result of trying to read a file inline.
enum InlineRead {
    Complete(Vec<u8>),
    /// The open file and its first bytes. The rest is not in the page cache, is too large, or
    /// cannot be read without blocking.
    Partial(File, Vec<u8>),
    /// A FIFO, which has no writer yet.
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

/// Opens a file and reads as much of it as it can without blocking.
fn read_inline(path: &Path, cx: &mut Context<'_>) -> Option<io::Result<InlineRead>> {
    let (file, len) = match cached::open(path)? {
        Ok((file, Some(len))) => (file, len),
        Ok((fifo, None)) => return Some(Ok(InlineRead::Fifo(fifo))),
        Err(error) => return Some(Err(error)),
    };
    if len > INLINE_MAX {
        return Some(Ok(InlineRead::Partial(file, Vec::new())));
    }
    // Files in `/proc` have a length of zero but may have contents, so read at least one byte.
    let len = len as usize;
    let mut bytes = Vec::with_capacity(len.max(1));
    while bytes.len() < len.max(1) {
        let room = bytes.spare_capacity_mut();
        match nowait::read(&file, room) {
            NowaitResult::Done(0) => break,
            NowaitResult::Done(n) => {
                let filled = bytes.len() + n;
                // SAFETY: `room` is the spare capacity that starts at `bytes.len()`, and the kernel
                // initialized its first `n` bytes. So `filled` is within the capacity.
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

/// Reads the rest of the file and appends it to `bytes`. Blocks.
fn read_rest(mut file: File, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
