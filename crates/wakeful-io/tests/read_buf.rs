//! `ReadBuf` keeps filled, initialized and uninitialized bytes apart.

mod support;

use std::mem::MaybeUninit;

use bytes::BufMut;
use support::panic_text;
use wakeful_io::ReadBuf;

#[test]
fn initialized_memory_stays_as_it_is_until_written() {
    let mut memory = *b"abcdef";
    let mut buf = ReadBuf::new(&mut memory);
    assert_eq!((buf.filled(), buf.initialized()), (&b""[..], &b"abcdef"[..]));
    assert_eq!(buf.initialize_unfilled(), b"abcdef");
    buf.advance(2);
    assert_eq!(buf.initialize_unfilled_to(3), b"cde");
    buf.put_slice(b"CD");
    assert_eq!((buf.filled(), buf.remaining(), buf.capacity()), (&b"abCD"[..], 2, 6));
}

#[test]
fn only_uninitialized_bytes_are_zeroed() {
    let mut memory = [MaybeUninit::new(9); 8];
    let mut buf = ReadBuf::uninit(&mut memory);
    buf.put_slice(b"ab");
    assert_eq!(buf.initialized(), b"ab");
    buf.clear();
    assert_eq!(buf.initialize_unfilled_to(4), b"ab\0\0");
    buf.initialized_mut()[3] = 7;
    assert_eq!(buf.initialize_unfilled(), b"ab\0\x07\0\0\0\0");
}

#[test]
fn the_filled_part_can_be_changed_and_shrunk() {
    let mut memory = [0; 4];
    let mut buf = ReadBuf::new(&mut memory);
    buf.put_slice(b"abc");
    buf.filled_mut()[0] = b'A';
    buf.set_filled(2);
    assert_eq!(buf.filled(), b"Ab");
    assert_eq!(buf.initialized(), b"Abc\0");
}

#[test]
fn take_gives_the_front_of_the_unfilled_part() {
    let mut memory = [MaybeUninit::uninit(); 8];
    let mut buf = ReadBuf::uninit(&mut memory);
    buf.put_slice(b"ab");
    let mut part = buf.take(3);
    assert_eq!((part.capacity(), part.initialized().len()), (3, 0));
    part.put_slice(b"cde");
    // SAFETY: the three bytes have just been written through `part`.
    unsafe { buf.assume_init(3) };
    buf.advance(3);
    assert_eq!(buf.filled(), b"abcde");
    assert_eq!(buf.take(100).capacity(), 3);
}

#[test]
fn assume_init_never_shrinks() {
    let mut memory = [1; 4];
    let mut buf = ReadBuf::new(&mut memory);
    // SAFETY: the whole array is initialized.
    unsafe { buf.assume_init(1) };
    assert_eq!(buf.initialized().len(), 4);
}

#[test]
fn it_is_a_buf_mut() {
    let mut memory = [MaybeUninit::uninit(); 8];
    let mut buf = ReadBuf::uninit(&mut memory);
    assert_eq!(buf.remaining_mut(), 8);
    buf.put_u16(0x6162);
    buf.put_bytes(b'c', 2);
    assert_eq!(buf.filled(), b"abcc");
    assert_eq!((buf.remaining_mut(), buf.chunk_mut().len()), (4, 4));
}

#[test]
fn the_unsafe_views_include_uninitialized_bytes() {
    let mut memory = [0; 4];
    let mut buf = ReadBuf::new(&mut memory);
    buf.put_slice(b"a");
    // SAFETY: the slices are only inspected, so nothing is de-initialized.
    unsafe {
        assert_eq!(buf.inner_mut().len(), 4);
        assert_eq!(buf.unfilled_mut().len(), 3);
    }
}

#[test]
fn debug_shows_the_three_lengths() {
    let mut memory = [0; 4];
    let mut buf = ReadBuf::new(&mut memory);
    buf.put_slice(b"a");
    assert_eq!(format!("{buf:?}"), "ReadBuf { filled: 1, initialized: 4, capacity: 4 }");
}

#[test]
fn panics_name_the_lengths() {
    let mut memory = [MaybeUninit::uninit(); 2];
    let mut buf = ReadBuf::uninit(&mut memory);
    let text = panic_text(|| buf.advance(1));
    assert_eq!(text, "filled must not become larger than initialized: filled = 1, initialized = 0");
    let text = panic_text(|| _ = buf.initialize_unfilled_to(3));
    assert_eq!(text, "n overflows remaining: n = 3, remaining() = 2");
    let text = panic_text(|| buf.put_slice(b"abc"));
    assert_eq!(text, "buf.len() must fit in remaining(); buf.len() = 3, remaining() = 2");
    buf.put_slice(b"a");
    assert_eq!(panic_text(|| buf.advance(usize::MAX)), "filled overflow");
}
