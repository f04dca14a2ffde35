//! Receiving into memory that need not be initialized.
//!
//! Each function appends the received bytes to `buf` and returns their number.

use bytes::BufMut;
use socket2::{SockAddr, SockRef};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

pub(super) fn recv(socket: &impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    let (n, ()) = fill(buf, |room| Ok((SockRef::from(socket).recv(room)?, ())))?;
    Ok(n)
}

pub(super) fn recv_from(
    socket: &impl AsFd,
    buf: &mut impl BufMut,
) -> io::Result<(usize, SockAddr)> {
    fill(buf, |room| SockRef::from(socket).recv_from(room))
}

pub(super) fn peek(socket: &impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    let (n, ()) = fill(buf, |room| Ok((SockRef::from(socket).peek(room)?, ())))?;
    Ok(n)
}

pub(super) fn peek_from(
    socket: &impl AsFd,
    buf: &mut impl BufMut,
) -> io::Result<(usize, SockAddr)> {
    fill(buf, |room| SockRef::from(socket).peek_from(room))
}

/// Passes the spare memory of `buf` to `call`, and advances `buf` by the length that `call`
/// returns.
///
/// Private to this file: it relies on `call` having initialized that many bytes, and on `call`
/// never writing uninitialized bytes.
fn fill<T>(
    buf: &mut impl BufMut,
    call: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<(usize, T)>,
) -> io::Result<(usize, T)> {
    // SAFETY: `call` must not de-initialize the bytes. Every closure in this file passes them to a
    // receiving system call, which only writes initialized bytes.
    let room = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    let (n, more) = call(room)?;
    // SAFETY: every closure in this file returns what its system call returned: the number of bytes
    // that the kernel wrote to the start of `room`.
    unsafe { buf.advance_mut(n) };
    Ok((n, more))
}
