//! Receiving into memory that need not be initialized.
//!
//! Each function adds what it received to `buf`, and returns how much that was.

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

/// Private, since it trusts `call`: that it initialized as many bytes as it says, and undid none.
fn fill<T>(
    buf: &mut impl BufMut,
    call: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<(usize, T)>,
) -> io::Result<(usize, T)> {
    // SAFETY: all callers hand it on to the kernel, which only writes.
    let room = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    let (n, more) = call(room)?;
    // SAFETY: the kernel wrote that many.
    unsafe { buf.advance_mut(n) };
    Ok((n, more))
}
