//! Reading, writing and seeking in a file.

mod support;

use std::future::Future;
use std::io::{IoSlice, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};
use support::files::{TempDir, evict_pages, needs_no_thread, reads_inline, writes_inline};
use support::{current_thread, each_flavor, multi_thread, panic_of};
use wakeful::fs::{File, FileTimes, OpenOptions};
use wakeful::io::{AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt};

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn written_bytes_are_read_back() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let dir = TempDir::new();
            let path = dir.join("file");
            let mut file = File::create(&path).await.unwrap();
            file.write_all(b"hello ").await.unwrap();
            file.write_all(b"world").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"hello world");

            let mut file = File::open(&path).await.unwrap();
            let mut bytes = [0; 32];
            assert_eq!(file.read(&mut bytes).await.unwrap(), 11);
            assert_eq!(&bytes[..11], b"hello world");
            assert_eq!(file.read(&mut bytes).await.unwrap(), 0);
        });
    }
}

#[test]
fn cached_bytes_are_read_without_a_thread() {
    let dir = TempDir::new();
    let contents: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    let path = dir.file("file", &contents);
    if !reads_inline(&path) {
        return;
    }
    needs_no_thread(async || {
        let mut file = File::open(&path).await.unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, contents);
        file.seek(SeekFrom::Start(99_998)).await.unwrap();
        assert_eq!(file.seek(SeekFrom::Current(-1)).await.unwrap(), 99_997);
        assert_eq!(file.read_u8().await.unwrap(), contents[99_997]);
    });
}

#[test]
fn bytes_are_written_inline_if_the_file_system_supports_it() {
    let dir = TempDir::new();
    let path = dir.file("file", "");
    if !writes_inline(&path) {
        return;
    }
    needs_no_thread(async || {
        let std = std::fs::File::options().write(true).truncate(true).open(&path).unwrap();
        let mut file = File::from_std(std);
        file.write_all(b"0123456789").await.unwrap();
        file.seek(SeekFrom::Start(2)).await.unwrap();
        let slices = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"c")];
        assert_eq!(file.write_vectored(&slices).await.unwrap(), 3);
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"01abc56789");
    });
    needs_no_thread(async || {
        std::fs::write(&path, "abc").unwrap();
        let mut file = File::from_std(std::fs::File::options().append(true).open(&path).unwrap());
        file.write_all(b"de").await.unwrap();
        file.write_all(b"f").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abcdef");
    });
}

/// Returns the status flags and the descriptor flags (close-on-exec) of a descriptor.
fn flags(file: impl AsFd) -> (i32, i32) {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: these calls access no memory of this process.
    let flags = unsafe { (libc::fcntl(fd, libc::F_GETFL), libc::fcntl(fd, libc::F_GETFD)) };
    assert!(flags.0 != -1 && flags.1 != -1);
    flags
}

#[test]
fn a_descriptor_has_the_flags_that_std_sets() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let dir = TempDir::new();
            let path = dir.file("file", "x");
            let as_std = flags(std::fs::File::open(&path).unwrap());
            // The second time, the path is in the directory cache.
            for _ in 0..2 {
                let open = || async { File::open(&path).await.unwrap() };
                assert_eq!(flags(open().await), as_std);
                assert_eq!(flags(open().await.into_std().await), as_std);
                assert_eq!(flags(open().await.try_into_std().unwrap()), as_std);
                assert_eq!(flags(open().await.try_clone().await.unwrap().into_std().await), as_std);
                let file = open().await;
                // SAFETY: `file` keeps the descriptor open for the borrow.
                assert_eq!(flags(unsafe { BorrowedFd::borrow_raw(file.as_raw_fd()) }), as_std);
                let dir_file = File::open(dir.path()).await.unwrap();
                dir_file.sync_all().await.unwrap();
                assert!(dir_file.metadata().await.unwrap().is_dir());
            }
        });
    }
}

#[test]
fn flags_that_the_caller_sets_stay() {
    current_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "x");
        for _ in 0..2 {
            let file = File::open(&path).await.unwrap();
            // SAFETY: the call accesses no memory of this process.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            assert_ne!(flags(&file).0 & libc::O_NONBLOCK, 0);
            assert_ne!(flags(file.into_std().await).0 & libc::O_NONBLOCK, 0);
        }
    });
}

#[test]
fn a_read_is_short_at_the_end_of_the_file_only() {
    const PAGE: usize = 4096;
    let dir = TempDir::new();
    let contents: Vec<u8> = (0..8 * PAGE).map(|n| (n / 16) as u8).collect();
    let path = dir.file("file", &contents);
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    multi_thread(2).block_on(async {
        for (offset, len) in [(0, 8), (4, 4), (3, 1), (0, 1), (7, 1)] {
            let std = std::fs::File::open(&path).unwrap();
            let mut bytes = vec![0; 9 * PAGE];
            std::os::unix::fs::FileExt::read_at(&std, &mut bytes, 0).unwrap();
            evict_pages(&std, (offset * PAGE) as i64, (len * PAGE) as i64);
            let mut file = File::from_std(std);
            file.seek(SeekFrom::Start(10)).await.unwrap();
            assert_eq!(file.read(&mut bytes).await.unwrap(), 8 * PAGE - 10);
            assert_eq!(bytes[..8 * PAGE - 10], contents[10..]);
            assert_eq!(file.stream_position().await.unwrap(), 8 * PAGE as u64);
        }
    });
}

#[test]
fn reading_past_the_end_returns_nothing_until_the_file_grows() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "ab");
        let mut file = File::open(&path).await.unwrap();
        file.seek(SeekFrom::Start(4)).await.unwrap();
        let mut bytes = [0; 8];
        assert_eq!(file.read(&mut bytes).await.unwrap(), 0);
        std::fs::write(&path, "abcdef").unwrap();
        assert_eq!(file.read(&mut bytes).await.unwrap(), 2);
        assert_eq!(&bytes[..2], b"ef");
        assert_eq!(file.read(&mut bytes).await.unwrap(), 0);
    });
}

#[test]
fn empty_buffers_change_nothing() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "abc");
        let mut file = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
        assert!(matches!(poll_once(file.read(&mut [])), Poll::Ready(Ok(0))));
        assert!(matches!(poll_once(file.write(&[])), Poll::Ready(Ok(0))));
        let none = [IoSlice::new(&[]), IoSlice::new(&[])];
        assert!(matches!(poll_once(file.write_vectored(&none)), Poll::Ready(Ok(0))));
        assert!(matches!(poll_once(file.write_vectored(&[])), Poll::Ready(Ok(0))));
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
    });
}

#[test]
fn appended_bytes_go_to_the_end_wherever_the_cursor_is() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "abc");
        let mut file = OpenOptions::new().read(true).append(true).open(&path).await.unwrap();
        let mut byte = [0];
        file.read_exact(&mut byte).await.unwrap();
        file.write_all(b"de").await.unwrap();
        file.flush().await.unwrap();
        file.rewind().await.unwrap();
        file.write_all(b"f").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abcdef");
        assert_eq!(file.stream_position().await.unwrap(), 6);
    });
}

#[test]
fn a_write_after_a_read_starts_at_the_readers_position() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789abcdef");
        let std = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        std.sync_all().unwrap();
        evict_pages(&std, 0, 0);
        let mut file = File::from_std(std);
        // Starts a read of eight bytes on the pool (unless the bytes are cached). The next read
        // takes only two of them.
        let _ = poll_once(file.read(&mut [0; 8]));
        let mut two = [0; 2];
        file.read_exact(&mut two).await.unwrap();
        let begin = file.stream_position().await.unwrap();
        file.write_all(b"xx").await.unwrap();
        assert_eq!(file.stream_position().await.unwrap(), begin + 2);
        file.flush().await.unwrap();
        let mut expected = *b"0123456789abcdef";
        expected[begin as usize..][..2].copy_from_slice(b"xx");
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    });
}

#[test]
fn a_write_error_is_returned_by_the_next_write_or_flush() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "abc");

        let mut file = File::open(&path).await.unwrap();
        assert_eq!(file.write(b"x").await.unwrap(), 1);
        assert!(file.flush().await.is_err());
        file.flush().await.unwrap();

        assert_eq!(file.write(b"x").await.unwrap(), 1);
        assert!(file.write(b"x").await.is_err());

        // Other operations do not consume the error.
        assert_eq!(file.write(b"x").await.unwrap(), 1);
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
        file.rewind().await.unwrap();
        file.sync_all().await.unwrap();
        assert!(file.shutdown().await.is_err());
        file.shutdown().await.unwrap();
    });
}

#[test]
fn one_transfer_is_limited_to_max_buf_size() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "abcdef");
        let mut file = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
        assert_eq!(file.max_buf_size(), 2 * 1024 * 1024);
        file.set_max_buf_size(4);
        assert_eq!(file.read(&mut [0; 32]).await.unwrap(), 4);
        assert_eq!(file.write(b"123456").await.unwrap(), 4);
        let slices = [IoSlice::new(b"7"), IoSlice::new(b"89ABC")];
        assert!(file.is_write_vectored());
        assert_eq!(file.write_vectored(&slices).await.unwrap(), 4);
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abcd1234789A");
        assert_eq!(file.try_clone().await.unwrap().max_buf_size(), 4);
    });
    let (text, _) = panic_of(|| {
        File::from_std(std::fs::File::open("/dev/null").unwrap()).set_max_buf_size(0);
    });
    assert_eq!(text, "`max_buf_size` must be greater than 0");
}

#[test]
fn more_slices_than_the_kernel_takes_are_written_in_order() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.join("file");
        let bytes: Vec<u8> = (0..3000u32).map(|n| n as u8).collect();
        let slices: Vec<_> = bytes.chunks(1).map(IoSlice::new).collect();
        let mut file = File::create(&path).await.unwrap();
        let mut written = 0;
        while written < bytes.len() {
            written += file.write_vectored(&slices[written..]).await.unwrap();
        }
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    });
}

#[test]
fn large_transfers_arrive_whole() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.join("file");
        let bytes: Vec<u8> = (0..5_000_000u32).map(|n| (n * 7 / 3) as u8).collect();
        let mut file = File::create(&path).await.unwrap();
        file.write_all(&bytes).await.unwrap();
        file.sync_data().await.unwrap();
        let std = file.into_std().await;
        for forget in [false, true] {
            if forget {
                evict_pages(&std, 1_000_000, 0);
            }
            let mut read = Vec::new();
            File::open(&path).await.unwrap().read_to_end(&mut read).await.unwrap();
            assert!(read == bytes);
            let mut read = vec![0; bytes.len()];
            File::open(&path).await.unwrap().read_exact(&mut read).await.unwrap();
            assert!(read == bytes);
        }
    });
}

#[test]
fn seeks_move_the_cursor() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let mut file = File::open(&path).await.unwrap();
        assert_eq!(file.seek(SeekFrom::End(-3)).await.unwrap(), 7);
        assert_eq!(file.read_u8().await.unwrap(), b'7');
        assert_eq!(file.seek(SeekFrom::Current(-4)).await.unwrap(), 4);
        assert_eq!(file.read_u8().await.unwrap(), b'4');
        assert_eq!(file.seek(SeekFrom::Start(20)).await.unwrap(), 20);
        assert!(file.seek(SeekFrom::Current(-21)).await.is_err());
        assert!(file.seek(SeekFrom::End(-11)).await.is_err());
        assert!(file.seek(SeekFrom::Current(i64::MIN)).await.is_err());
        assert_eq!(file.stream_position().await.unwrap(), 20);
        file.rewind().await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'0');
    });
}

#[test]
fn a_seek_takes_effect_without_poll_complete() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let mut file = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
        for position in [SeekFrom::Start(4), SeekFrom::End(-6)] {
            pin!(&mut file).start_seek(position).unwrap();
            assert!(pin!(&mut file).start_seek(position).is_err());
            assert_eq!(file.read_u8().await.unwrap(), b'4');
        }
        pin!(&mut file).start_seek(SeekFrom::Start(2)).unwrap();
        file.write_all(b"x").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"01x3456789");
        pin!(&mut file).start_seek(SeekFrom::Start(5)).unwrap();
        file.flush().await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'5');
    });
}

#[test]
fn a_failed_seek_keeps_what_was_read_ahead() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let std = std::fs::File::open(&path).unwrap();
        std.sync_all().unwrap();
        evict_pages(&std, 0, 0);
        let mut file = File::from_std(std);
        // Starts to read ahead, unless the bytes are cached.
        let taken = match poll_once(file.read(&mut [0; 8])) {
            Poll::Ready(n) => n.unwrap(),
            Poll::Pending => 0,
        };
        assert_eq!(file.read_u8().await.unwrap(), b"0123456789"[taken]);
        assert!(file.seek(SeekFrom::Current(-12)).await.is_err());
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "0123456789"[taken + 1..]);
    });
}

#[test]
fn set_len_truncates_or_extends_and_keeps_the_cursor() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let mut file = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
        file.seek(SeekFrom::Start(3)).await.unwrap();
        file.write_all(b"abc").await.unwrap();
        file.set_len(5).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"012ab");
        assert_eq!(file.stream_position().await.unwrap(), 6);
        file.set_len(7).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"012ab\0\0");
        assert!(File::open(&path).await.unwrap().set_len(0).await.is_err());
    });
}

#[test]
fn clones_share_the_cursor() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let mut file = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        assert_eq!(clone.read_u8().await.unwrap(), b'1');
        file.write_all(b"x").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(clone.read_u8().await.unwrap(), b'3');
    });
}

#[test]
fn an_idle_file_converts_to_std_with_its_cursor() {
    multi_thread(2).block_on(async {
        use std::io::Read;
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let mut file = File::open(&path).await.unwrap();
        file.read_u8().await.unwrap();
        let mut std = file.try_into_std().unwrap();
        let mut text = String::new();
        std.read_to_string(&mut text).unwrap();
        assert_eq!(text, "123456789");
    });
}

#[test]
fn permissions_and_times_are_set() {
    use std::os::unix::fs::PermissionsExt;
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let mut file = File::create_new(dir.join("file")).await.unwrap();
        let again = File::create_new(dir.join("file")).await.unwrap_err();
        assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
        file.set_permissions(std::fs::Permissions::from_mode(0o600)).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().permissions().mode() & 0o777, 0o600);

        let (first, then) = (Duration::from_secs(1_000_000), Duration::from_secs(2_000_000));
        file.write_all(b"x").await.unwrap();
        let times = FileTimes::new()
            .set_accessed(SystemTime::UNIX_EPOCH + first)
            .set_modified(SystemTime::UNIX_EPOCH + then);
        file.set_times(times).await.unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!(metadata.accessed().unwrap(), SystemTime::UNIX_EPOCH + first);
        assert_eq!(metadata.modified().unwrap(), SystemTime::UNIX_EPOCH + then);
        file.set_modified(SystemTime::UNIX_EPOCH + first).await.unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!(metadata.accessed().unwrap(), SystemTime::UNIX_EPOCH + first);
        assert_eq!(metadata.modified().unwrap(), SystemTime::UNIX_EPOCH + first);
    });
}

#[test]
fn reading_cached_bytes_yields_to_other_tasks() {
    let dir = TempDir::new();
    let path = dir.file("file", [7; 4096]);
    current_thread().block_on(async {
        let done = Arc::new(AtomicBool::new(false));
        let seen = done.clone();
        let mut file = File::open(&path).await.unwrap();
        let reads = wakeful::spawn(async move {
            let mut bytes = [0; 4096];
            while !seen.load(SeqCst) {
                file.rewind().await.unwrap();
                file.read_exact(&mut bytes).await.unwrap();
            }
        });
        let (seen, whole) = (done.clone(), path.clone());
        let reads_whole = wakeful::spawn(async move {
            while !seen.load(SeqCst) {
                assert_eq!(wakeful::fs::read(&whole).await.unwrap().len(), 4096);
            }
        });
        for _ in 0..10 {
            wakeful::task::yield_now().await;
        }
        done.store(true, SeqCst);
        reads.await.unwrap();
        reads_whole.await.unwrap();
    });
}

#[test]
fn large_reads_cost_more_of_the_budget() {
    let dir = TempDir::new();
    let path = dir.file("file", vec![7; 1024 * 1024]);
    if !reads_inline(&path) {
        return;
    }
    current_thread().block_on(async {
        let mut file = File::open(&path).await.unwrap();
        let mut reads = pin!(async {
            let mut bytes = vec![0; 1024 * 1024];
            for _ in 0..32 {
                file.rewind().await.unwrap();
                file.read_exact(&mut bytes).await.unwrap();
            }
        });
        let mut polls = 0;
        std::future::poll_fn(|cx| {
            polls += 1;
            reads.as_mut().poll(cx)
        })
        .await;
        assert!(polls >= 4, "32 mebibytes in {polls} polls");
    });
}

#[test]
fn outside_a_runtime_even_inline_operations_panic() {
    let dir = TempDir::new();
    let path = dir.file("file", "abc");
    for _ in 0..2 {
        let (text, _) = panic_of(|| drop(poll_once(wakeful::fs::read(&path))));
        assert!(text.contains("`fs::read` called"), "{text}");
        let (text, _) = panic_of(|| drop(poll_once(File::open(&path))));
        assert!(text.contains("`fs::OpenOptions::open` called"), "{text}");
    }
    let std = || File::from_std(std::fs::File::open(&path).unwrap());
    let (text, _) = panic_of(|| drop(poll_once(std().read(&mut [0]))));
    assert!(text.contains("`fs::File::read` called"), "{text}");
    let (text, _) = panic_of(|| drop(poll_once(std().write(&[0]))));
    assert!(text.contains("`fs::File::write` called"), "{text}");
    let (text, _) = panic_of(|| drop(poll_once(std().rewind())));
    assert!(text.contains("`fs::File::seek` called"), "{text}");
}
