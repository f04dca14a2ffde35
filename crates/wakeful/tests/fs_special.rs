//! Pipes, devices and files that the kernel generates, opened as files; files with flags that rule
//! out inline operations; files that change while they are read.

mod support;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Instant;
use support::files::{TempDir, blocking_threads, pipe};
use support::{current_thread, each_flavor, eventually, multi_thread, stress_time};
use wakeful::fs::{self, File, OpenOptions};
use wakeful::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

#[test]
fn both_ends_of_a_fifo_are_opened_by_tasks_of_one_thread() {
    for runtime in each_flavor() {
        let dir = TempDir::new();
        let path = dir.fifo("fifo");
        // Brings the path into the directory cache.
        assert!(std::fs::metadata(&path).is_ok());
        let for_writer = path.clone();
        runtime.block_on(async {
            let reader = wakeful::spawn(async move {
                let mut text = String::new();
                File::open(path).await.unwrap().read_to_string(&mut text).await.unwrap();
                text
            });
            wakeful::task::yield_now().await;
            let mut file = OpenOptions::new().write(true).open(for_writer).await.unwrap();
            file.write_all(b"through the fifo").await.unwrap();
            file.flush().await.unwrap();
            drop(file);
            assert_eq!(reader.await.unwrap(), "through the fifo");
        });
    }
}

#[test]
fn the_writer_of_a_fifo_never_loses_its_reader() {
    for (whole, was_a_file) in
        [(false, false), (true, false), (false, true), (true, true)].repeat(10)
    {
        let dir = TempDir::new();
        // Caches that the file system is local, and then that the path is.
        let path = dir.file(if was_a_file { "fifo" } else { "file" }, "");
        for _ in 0..3 {
            current_thread().block_on(fs::read(&path)).unwrap();
        }
        std::fs::remove_file(path).unwrap();
        let path = dir.fifo("fifo");
        let for_writer = path.clone();
        let writer = thread::spawn(move || {
            let mut file = std::fs::File::options().write(true).open(for_writer).unwrap();
            for _ in 0..100 {
                file.write_all(b"line\n").unwrap();
            }
        });
        current_thread().block_on(async {
            let text = if whole {
                fs::read_to_string(&path).await.unwrap()
            } else {
                let mut text = String::new();
                File::open(&path).await.unwrap().read_to_string(&mut text).await.unwrap();
                text
            };
            assert_eq!(text, "line\n".repeat(100));
        });
        writer.join().unwrap();
    }
}

#[test]
fn a_fifo_that_replaced_a_file_is_waited_for() {
    async fn open_and_read(path: PathBuf) -> Vec<u8> {
        let mut bytes = Vec::new();
        File::open(path).await.unwrap().read_to_end(&mut bytes).await.unwrap();
        bytes
    }
    async fn read_whole(path: PathBuf) -> Vec<u8> {
        fs::read(path).await.unwrap()
    }
    async fn waits_for_the_writer<F>(read: fn(PathBuf) -> F)
    where
        F: Future<Output = Vec<u8>> + Send + 'static,
    {
        let dir = TempDir::new();
        let path = dir.file("file", "a file");
        for _ in 0..3 {
            assert_eq!(read(path.clone()).await, b"a file");
        }
        std::fs::remove_file(&path).unwrap();
        let path = dir.fifo("file");
        let reader = wakeful::spawn(read(path.clone()));
        // On the current-thread runtime, a reader that blocked the thread would hang the test here.
        wakeful::task::yield_now().await;
        let mut writer = OpenOptions::new().write(true).open(&path).await.unwrap();
        writer.write_all(b"a pipe").await.unwrap();
        writer.flush().await.unwrap();
        drop(writer);
        assert_eq!(reader.await.unwrap(), b"a pipe");
    }
    for runtime in each_flavor() {
        runtime.block_on(waits_for_the_writer(open_and_read));
        runtime.block_on(waits_for_the_writer(read_whole));
    }
}

#[test]
fn a_file_that_replaced_another_is_read_whole() {
    let dir = TempDir::new();
    let path = dir.join("file");
    let stop = Arc::new(AtomicBool::new(false));
    let (short, long) = (vec![1; 10], vec![2; 5000]);
    std::fs::write(&path, &short).unwrap();
    let (for_changer, replacement, stopped) = (path.clone(), dir.join("new"), stop.clone());
    let contents = [short.clone(), long.clone()];
    let changer = thread::spawn(move || {
        for round in 0.. {
            if stopped.load(SeqCst) {
                return;
            }
            std::fs::write(&replacement, &contents[round % 2]).unwrap();
            std::fs::rename(&replacement, &for_changer).unwrap();
        }
    });
    multi_thread(2).block_on(async {
        let until = Instant::now() + stress_time() / 4;
        while Instant::now() < until {
            let read = fs::read(&path).await.unwrap();
            assert!(read == short || read == long, "{} bytes", read.len());
        }
    });
    stop.store(true, SeqCst);
    changer.join().unwrap();
}

#[test]
fn a_pipe_is_read_as_it_fills() {
    multi_thread(2).block_on(async {
        let (read_end, mut write_end) = pipe();
        let mut file = File::from_std(read_end);
        let mut bytes = [0; 16];
        write_end.write_all(b"one").unwrap();
        assert_eq!(file.read(&mut bytes).await.unwrap(), 3);
        let reader = wakeful::spawn(async move {
            let n = file.read(&mut bytes).await.unwrap();
            (file, bytes[..n].to_vec())
        });
        wakeful::task::yield_now().await;
        write_end.write_all(b"two").unwrap();
        let (mut file, bytes) = reader.await.unwrap();
        assert_eq!(bytes, b"two");
        assert!(file.rewind().await.is_err());
        drop(write_end);
        assert_eq!(file.read(&mut [0; 16]).await.unwrap(), 0);
    });
}

#[test]
fn a_write_larger_than_the_pipe_completes() {
    multi_thread(2).block_on(async {
        let (mut read_end, write_end) = pipe();
        let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n / 3) as u8).collect();
        let mut file = File::from_std(write_end);
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            read_end.read_to_end(&mut all).unwrap();
            all
        });
        // One write takes all bytes. Those that do not fit into the pipe are written in the
        // background.
        assert_eq!(file.write(&bytes).await.unwrap(), bytes.len());
        file.flush().await.unwrap();
        drop(file);
        assert!(reader.join().unwrap() == bytes);
    });
}

#[test]
fn a_pipe_without_a_reader_fails_the_next_write() {
    multi_thread(2).block_on(async {
        let (read_end, write_end) = pipe();
        drop(read_end);
        let mut file = File::from_std(write_end);
        assert_eq!(file.write(b"x").await.unwrap(), 1);
        let error = file.flush().await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    });
}

#[test]
fn files_that_the_kernel_generates_are_read_whole() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let text = fs::read_to_string("/proc/self/status").await.unwrap();
            assert!(text.starts_with("Name:") && text.ends_with('\n'));
            let bytes = fs::read("/proc/self/cmdline").await.unwrap();
            assert_eq!(bytes, std::fs::read("/proc/self/cmdline").unwrap());

            let mut file = File::open("/proc/self/status").await.unwrap();
            assert_eq!(file.metadata().await.unwrap().len(), 0);
            let mut again = String::new();
            file.read_to_string(&mut again).await.unwrap();
            assert!(again.starts_with("Name:") && again.ends_with('\n'));
        });
    }
}

#[test]
fn devices_are_read_and_written() {
    multi_thread(2).block_on(async {
        let mut bytes = [1; 100];
        File::open("/dev/zero").await.unwrap().read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, [0; 100]);
        assert_eq!(fs::read("/dev/null").await.unwrap(), b"");
        let mut file = OpenOptions::new().write(true).open("/dev/null").await.unwrap();
        file.write_all(&vec![0; 5_000_000]).await.unwrap();
        file.flush().await.unwrap();
        let mut file = OpenOptions::new().write(true).open("/dev/full").await.unwrap();
        file.write_all(b"x").await.unwrap();
        assert_eq!(file.flush().await.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    });
}

#[test]
fn a_directory_is_opened_and_not_read() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        assert!(fs::read(dir.path()).await.is_err());
        let mut file = File::open(dir.path()).await.unwrap();
        assert!(file.read(&mut [0; 16]).await.is_err());
        file.sync_all().await.unwrap();
    });
}

#[test]
fn direct_io_runs_on_the_pool() {
    let dir = TempDir::new();
    let path = dir.file("file", [7; 4096]);
    let direct = || {
        use std::os::unix::fs::OpenOptionsExt;
        std::fs::File::options().read(true).custom_flags(libc::O_DIRECT).open(&path)
    };
    // Not every file system supports `O_DIRECT`.
    let Ok(std) = direct() else { return };
    let runtime = current_thread();
    runtime.block_on(async {
        let mut bytes = [0; 4096];
        match File::from_std(std).read(&mut bytes).await {
            Ok(n) => assert_eq!(bytes[..n], [7; 4096][..n]),
            // The staging buffer may not have the alignment that `O_DIRECT` requires.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput),
        }
    });
    assert_eq!(blocking_threads(&runtime), 1);
}

#[test]
fn synchronous_writes_run_on_the_pool() {
    let dir = TempDir::new();
    let path = dir.join("file");
    let runtime = current_thread();
    runtime.block_on(async {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).custom_flags(libc::O_SYNC);
        let mut file = options.open(&path).await.unwrap();
        file.write_all(b"abc").await.unwrap();
        file.flush().await.unwrap();
        file.rewind().await.unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
    });
}

#[test]
fn custom_flags_are_used() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "abc");
        fs::symlink(&path, dir.join("link")).await.unwrap();
        assert_eq!(fs::read(dir.join("link")).await.unwrap(), b"abc");
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW);
        options.open(&path).await.unwrap();
        let error = options.open(dir.join("link")).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));

        let mut std = std::fs::File::options();
        std.append(true).create(true);
        let mut file = OpenOptions::from(std).open(&path).await.unwrap();
        file.write_all(b"def").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"abcdef");
    });
}

#[test]
fn failed_opens_return_the_errors_of_std() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "abc");
        let nul = dir.join("a\0b");
        for path in [&dir.join("nothing"), &path.join("below"), &nul, &dir.join("")] {
            // The second time, the path may be in the directory cache.
            for _ in 0..2 {
                let expected = std::fs::File::open(path).map(|_| ()).map_err(|error| error.kind());
                let opened = File::open(path).await.map(|_| ()).map_err(|error| error.kind());
                assert_eq!(opened, expected, "{path:?}");
                let expected = std::fs::read(path).map_err(|error| error.kind());
                let read = fs::read(path).await.map_err(|error| error.kind());
                assert_eq!(read, expected, "{path:?}");
            }
        }
    });
}

#[test]
fn a_file_that_is_resized_meanwhile_is_read_consistently() {
    const LEN: usize = 64 * 1024;
    let dir = TempDir::new();
    let path = dir.file("file", [7; LEN]);
    let stop = Arc::new(AtomicBool::new(false));
    let (for_changer, stopped) = (path.clone(), stop.clone());
    let changer = thread::spawn(move || {
        let file = std::fs::File::options().write(true).open(for_changer).unwrap();
        for round in 0u64.. {
            if stopped.load(SeqCst) {
                return;
            }
            file.set_len((round * 7919) % LEN as u64).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &[7; LEN], 0).unwrap();
        }
    });
    multi_thread(2).block_on(async {
        let mut file = File::open(&path).await.unwrap();
        let mut bytes = vec![0; LEN + 1];
        let until = Instant::now() + stress_time() / 4;
        while Instant::now() < until {
            let whole = fs::read(&path).await.unwrap();
            // While the file is being refilled, a read may see a hole of zeros.
            assert!(whole.len() <= LEN && whole.iter().all(|&byte| byte == 7 || byte == 0));
            file.rewind().await.unwrap();
            let n = file.read(&mut bytes).await.unwrap();
            assert!(n <= LEN && bytes[..n].iter().all(|&byte| byte == 7 || byte == 0));
        }
    });
    stop.store(true, SeqCst);
    changer.join().unwrap();
}

#[test]
fn a_cancelled_open_of_a_fifo_ends_with_the_next_writer() {
    let dir = TempDir::new();
    let path = dir.fifo("fifo");
    let runtime = multi_thread(1);
    let (for_task, for_writer) = (path.clone(), path);
    let task = runtime.spawn(async move { File::open(for_task).await.map(|_| ()) });
    eventually("a thread waits for the other end", || blocking_threads(&runtime) == 1);
    task.abort();
    let ended = runtime.block_on(task).unwrap_err();
    assert!(ended.is_cancelled());
    // The open continues on its pool thread without the task. A writer ends it, and so lets the
    // shutdown complete.
    std::fs::File::options().write(true).open(for_writer).unwrap();
    drop(runtime);
}
