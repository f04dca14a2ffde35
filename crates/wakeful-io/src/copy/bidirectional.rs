use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::one_way::Transfer;
use crate::traits::{AsyncRead, AsyncWrite};
use crate::window::DEFAULT_CAPACITY;

/// Copies from `a` to `b` and from `b` to `a` at the same time, through two buffers of 8 KiB.
///
/// When one stream ends, the other is [shut down](crate::AsyncWriteExt::shutdown), and copying
/// continues in the other direction. Once both have ended, this returns the number of bytes copied
/// from `a` to `b` and the number copied from `b` to `a`.
///
/// # Errors
///
/// Returns the first error of a read or write that is not
/// [`Interrupted`](io::ErrorKind::Interrupted), or the first error of a flush or shutdown. Bytes
/// that were read but not written are then lost.
///
/// # Cancel safety
///
/// This function is not cancel safe. If the future is dropped before it completes, bytes that were
/// read but not written are lost.
///
/// # Examples
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
///
/// let (mut client, mut inbound) = duplex(64);
/// let (mut outbound, mut server) = duplex(64);
/// client.write_all(b"question").await?;
/// client.shutdown().await?;
/// server.write_all(b"answer").await?;
/// server.shutdown().await?;
///
/// assert_eq!(copy_bidirectional(&mut inbound, &mut outbound).await?, (8, 6));
///
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "question");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    exchange(a, b, DEFAULT_CAPACITY, DEFAULT_CAPACITY).await
}

/// Copies like [`copy_bidirectional`], with buffers of the given sizes.
///
/// # Panics
///
/// Panics if a size is zero.
///
/// ```
/// use wakeful::io::{AsyncWriteExt, copy_bidirectional_with_sizes, duplex};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut client, mut inbound) = duplex(64);
/// let (mut outbound, mut server) = duplex(64);
/// client.write_all(b"a long question").await?;
/// client.shutdown().await?;
/// server.shutdown().await?;
/// let copied = copy_bidirectional_with_sizes(&mut inbound, &mut outbound, 4, 1024).await?;
/// assert_eq!(copied, (15, 0));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy_bidirectional_with_sizes<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    assert!(a_to_b_buf_size > 0, "`a_to_b_buf_size` must be greater than 0");
    assert!(b_to_a_buf_size > 0, "`b_to_a_buf_size` must be greater than 0");
    exchange(a, b, a_to_b_buf_size, b_to_a_buf_size).await
}

async fn exchange<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let mut a_to_b = Direction::Running(Transfer::new(a_to_b_buf_size));
    let mut b_to_a = Direction::Running(Transfer::new(b_to_a_buf_size));
    poll_fn(|cx| {
        // Both directions are polled each time, even if the first is pending. A finished direction
        // returns its result again.
        let there = a_to_b.poll(cx, Pin::new(&mut *a), Pin::new(&mut *b))?;
        let back = b_to_a.poll(cx, Pin::new(&mut *b), Pin::new(&mut *a))?;
        Poll::Ready(Ok((ready!(there), ready!(back))))
    })
    .await
}

/// The state of one direction; once copying is done, the number of bytes.
enum Direction {
    Running(Transfer),
    ShuttingDown(u64),
    Done(u64),
}

impl Direction {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            *self =
                match self {
                    Direction::Running(transfer) => Direction::ShuttingDown(ready!(
                        transfer.poll(cx, reader.as_mut(), writer.as_mut())
                    )?),
                    Direction::ShuttingDown(copied) => {
                        ready!(writer.as_mut().poll_shutdown(cx))?;
                        Direction::Done(*copied)
                    }
                    Direction::Done(copied) => return Poll::Ready(Ok(*copied)),
                };
        }
    }
}
