//! Types and futures are `Send`, `Sync` and `Unpin` exactly where Tokio's are.

use std::cell::Cell;
use std::io::{IoSlice, SeekFrom};
use std::marker::PhantomData;
use std::pin::Pin;

use wakeful_io::*;

/// Declares a type whose `yes()` is true if `T` has the trait: inherent methods take precedence
/// over those of the trait `No`.
macro_rules! has {
    ($name:ident, $bound:ident) => {
        struct $name<T: ?Sized>(PhantomData<T>);
        impl<T: ?Sized + $bound> $name<T> {
            fn yes(&self) -> bool {
                true
            }
        }
        impl<T: ?Sized> No for $name<T> {}
    };
}

trait No {
    fn yes(&self) -> bool {
        false
    }
}

has!(HasSend, Send);
has!(HasSync, Sync);
has!(HasUnpin, Unpin);

macro_rules! traits_of {
    ($ty:ty) => {
        (
            HasSend::<$ty>(PhantomData).yes(),
            HasSync::<$ty>(PhantomData).yes(),
            HasUnpin::<$ty>(PhantomData).yes(),
        )
    };
}

#[test]
fn halves_follow_their_stream() {
    type SyncOnly = std::sync::MutexGuard<'static, u8>;
    assert_eq!(traits_of!(ReadHalf<u8>), (true, true, true));
    assert_eq!(traits_of!(WriteHalf<u8>), (true, true, true));
    assert_eq!(traits_of!(ReadHalf<Cell<u8>>), (true, false, true));
    assert_eq!(traits_of!(WriteHalf<Cell<u8>>), (true, false, true));
    assert_eq!(traits_of!(ReadHalf<SyncOnly>), (false, true, true));
    assert_eq!(traits_of!(WriteHalf<SyncOnly>), (false, true, true));
    assert_eq!(traits_of!(ReadHalf<*const u8>), (false, false, true));
}

#[test]
fn streams_are_all_three() {
    assert_eq!(traits_of!(DuplexStream), (true, true, true));
    assert_eq!(traits_of!(SimplexStream), (true, true, true));
    assert_eq!(traits_of!(ReadBuf<'static>), (true, true, true));
    assert_eq!(traits_of!(Empty), (true, true, true));
    assert_eq!(traits_of!(Repeat), (true, true, true));
    assert_eq!(traits_of!(Sink), (true, true, true));
}

#[test]
fn adapters_follow_what_is_inside() {
    type Pinned = std::marker::PhantomPinned;
    assert_eq!(traits_of!(BufReader<Cell<u8>>), (true, false, true));
    assert_eq!(traits_of!(BufWriter<Cell<u8>>), (true, false, true));
    assert_eq!(traits_of!(BufStream<Pinned>), (true, true, false));
    assert_eq!(traits_of!(Chain<u8, Pinned>), (true, true, false));
    assert_eq!(traits_of!(Take<Pinned>), (true, true, false));
    assert_eq!(traits_of!(Lines<Cell<u8>>), (true, false, true));
    assert_eq!(traits_of!(Split<*const u8>), (false, false, true));
    assert_eq!(traits_of!(Join<u8, Pinned>), (true, true, false));
}

type Stream = Pin<Box<dyn Everything + Send + Sync>>;
trait Everything: AsyncBufRead + AsyncWrite + AsyncSeek {}

/// Never called; the test is that this compiles.
fn sendable_futures(stream: &mut Stream, other: &mut Stream) {
    fn send_and_sync<T: Send + Sync>(_future: T) {}
    send_and_sync(stream.read(&mut []));
    send_and_sync(stream.read_buf(&mut Vec::new()));
    send_and_sync(stream.read_exact(&mut []));
    send_and_sync(stream.read_to_end(&mut Vec::new()));
    send_and_sync(stream.read_to_string(&mut String::new()));
    send_and_sync(stream.read_u8());
    send_and_sync(stream.read_f64_le());
    send_and_sync(stream.write(&[]));
    send_and_sync(stream.write_vectored(&[IoSlice::new(&[])]));
    send_and_sync(stream.write_buf(&mut &[][..]));
    send_and_sync(stream.write_all_buf(&mut &[][..]));
    send_and_sync(stream.write_all(&[]));
    send_and_sync(stream.write_i128(1));
    send_and_sync(stream.flush());
    send_and_sync(stream.shutdown());
    send_and_sync(stream.read_until(0, &mut Vec::new()));
    send_and_sync(stream.read_line(&mut String::new()));
    send_and_sync(stream.fill_buf());
    send_and_sync(stream.lines().next_line());
    send_and_sync(AsyncBufReadExt::split(&mut *stream, 0).next_segment());
    send_and_sync(stream.seek(SeekFrom::Start(0)));
    send_and_sync(copy(stream, other));
    send_and_sync(copy_buf(stream, other));
    send_and_sync(copy_bidirectional(stream, other));
    send_and_sync(copy_bidirectional_with_sizes(stream, other, 1, 1));
}

#[test]
fn futures_are_send_and_sync() {
    _ = sendable_futures;
}

#[test]
fn futures_are_not_unpin() {
    /// Inspects a type that cannot be named.
    fn unpin_of<T>(_value: &T) -> HasUnpin<T> {
        HasUnpin(PhantomData)
    }
    let (mut reader, mut writer) = (&b""[..], Vec::new());
    let mut text = String::new();
    assert!(!unpin_of(&reader.read(&mut [])).yes());
    assert!(!unpin_of(&reader.read_u8()).yes());
    assert!(!unpin_of(&reader.read_exact(&mut [])).yes());
    assert!(!unpin_of(&reader.read_buf(&mut Vec::new())).yes());
    assert!(!unpin_of(&reader.read_to_end(&mut Vec::new())).yes());
    assert!(!unpin_of(&AsyncReadExt::read_to_string(&mut reader, &mut text)).yes());
    assert!(!unpin_of(&reader.read_until(0, &mut Vec::new())).yes());
    assert!(!unpin_of(&AsyncBufReadExt::read_line(&mut reader, &mut text)).yes());
    assert!(!unpin_of(&reader.fill_buf()).yes());
    assert!(!unpin_of(&writer.write(b"")).yes());
    assert!(!unpin_of(&writer.write_u8(1)).yes());
    assert!(!unpin_of(&writer.write_all(b"")).yes());
    assert!(!unpin_of(&writer.write_vectored(&[])).yes());
    assert!(!unpin_of(&writer.write_buf(&mut &b""[..])).yes());
    assert!(!unpin_of(&writer.write_all_buf(&mut &b""[..])).yes());
    assert!(!unpin_of(&writer.flush()).yes());
    assert!(!unpin_of(&writer.shutdown()).yes());
    assert!(!unpin_of(&empty().rewind()).yes());
    assert!(!unpin_of(&copy(&mut reader, &mut writer)).yes());
    // Counter-check: the probe does recognize `Unpin` types.
    assert!(unpin_of(&reader).yes());
}
