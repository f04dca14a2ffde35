//! Readers and writers that break the rules of their trait cause a panic that names the rule.

mod support;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use support::{panic_text, run};
use wakeful_io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter,
    ReadBuf, copy, copy_buf, empty, sink,
};

/// A reader that replaces the `ReadBuf` it is given.
struct Swapper(usize);

impl AsyncRead for Swapper {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut other = ReadBuf::new(vec![7; self.0].leak());
        other.set_filled(self.0);
        *buf = other;
        Poll::Ready(Ok(()))
    }
}

fn assert_caught(f: impl FnOnce()) {
    let text = panic_text(f);
    assert!(text.starts_with("AsyncRead::poll_read replaced the ReadBuf"), "{text}");
}

#[test]
fn a_replaced_buffer_is_caught() {
    for len in [0, 1, 4, 100] {
        let swapper = || Swapper(len);
        assert_caught(|| _ = run(swapper().read(&mut [0; 3])));
        assert_caught(|| _ = run(swapper().read_exact(&mut [0; 3])));
        assert_caught(|| _ = run(swapper().read_u64()));
        assert_caught(|| _ = run(swapper().read_to_end(&mut Vec::new())));
        assert_caught(|| _ = run(swapper().read_to_end(&mut vec![1; 64])));
        assert_caught(|| _ = run(swapper().read_to_string(&mut String::new())));
        assert_caught(|| _ = run(swapper().read_buf(&mut Vec::with_capacity(10))));
        assert_caught(|| _ = run(swapper().take(10).read(&mut [0; 20])));
        assert_caught(|| _ = run(BufReader::new(swapper()).fill_buf()).map(<[u8]>::len));
        assert_caught(|| _ = run(copy(&mut swapper(), &mut sink())));
    }
}

/// A reader that clears the filled part.
struct Shrinker;

impl AsyncRead for Shrinker {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.clear();
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_shrunk_filled_part_is_caught() {
    let mut memory = [0; 8];
    let mut buf = ReadBuf::new(&mut memory);
    buf.put_slice(b"abc");
    let mut chain = Shrinker.chain(empty());
    let cx = &mut Context::from_waker(Waker::noop());
    let text = panic_text(|| _ = Pin::new(&mut chain).poll_read(cx, &mut buf));
    assert_eq!(
        text,
        "AsyncRead::poll_read shrank the filled part of its ReadBuf from 3 to 0 bytes; \
         a reader may only add to it"
    );
}

#[test]
fn a_reader_cannot_revoke_bytes_of_earlier_reads() {
    let mut all = Vec::new();
    assert_eq!(run(b"abc".chain(Shrinker).read_to_end(&mut all)).unwrap(), 3);
    assert_eq!(all, b"abc");
    let mut buf = [0; 4];
    assert!(run(b"abc".chain(Shrinker).read_exact(&mut buf)).is_err());
    assert_eq!(&buf, b"abc\0");
    assert!(run(b"\x01".chain(Shrinker).read_u16()).is_err());
    let mut out = Vec::new();
    assert_eq!(run(copy(&mut b"abc".chain(Shrinker), &mut out)).unwrap(), 3);
}

/// A reader that claims to have read more bytes than fit.
struct Boaster;

impl AsyncRead for Boaster {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.initialize_unfilled();
        let n = buf.remaining() + 1;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

/// A writer that claims to have written more bytes than it was offered.
impl AsyncWrite for Boaster {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn reading_more_than_fits_is_caught() {
    let text = panic_text(|| _ = run(Boaster.read(&mut [0; 3])));
    assert_eq!(text, "filled must not become larger than initialized: filled = 4, initialized = 3");
    let text = panic_text(|| _ = run(Boaster.take(2).read(&mut [0; 3])));
    assert_eq!(text, "filled must not become larger than initialized: filled = 3, initialized = 2");
}

#[test]
fn writing_more_than_was_offered_is_caught() {
    let expected = |offered| {
        format!(
            "AsyncWrite::poll_write returned {} for a buffer of {offered} bytes; \
             a writer cannot take more than it was offered",
            offered + 1
        )
    };
    let bytes = || Bytes::from_static(b"abc");
    assert_eq!(panic_text(|| _ = run(Boaster.write_all(b"abc"))), expected(3));
    assert_eq!(panic_text(|| _ = run(Boaster.write_all_buf(&mut bytes()))), expected(3));
    assert_eq!(panic_text(|| _ = run(Boaster.write_buf(&mut bytes()))), expected(3));
    assert_eq!(panic_text(|| _ = run(Boaster.write_u32(1))), expected(4));
    assert_eq!(panic_text(|| _ = run(copy(&mut &b"abc"[..], &mut Boaster))), expected(3));
    assert_eq!(panic_text(|| _ = run(copy_buf(&mut &b"abc"[..], &mut Boaster))), expected(3));
    let mut buffered = BufWriter::new(Boaster);
    run(buffered.write_all(b"ab")).unwrap();
    assert_eq!(panic_text(|| _ = run(buffered.flush())), expected(2));
}
