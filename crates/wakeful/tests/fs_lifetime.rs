//! Operations whose future, file or runtime is dropped while they are under way.

mod support;

use std::future::Future;
use std::io::{Read, Write};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use support::files::{TempDir, pipe};
use support::{each_flavor, multi_thread};
use wakeful::fs::{self, File, OpenOptions};
use wakeful::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
use wakeful::runtime::{Builder, Runtime};

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Creates a runtime whose only pool thread is busy until the sender is used.
fn with_busy_pool() -> (Runtime, mpsc::Sender<()>) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (free, wait) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    runtime.spawn_blocking(move || {
        begun.send(()).unwrap();
        wait.recv().unwrap();
    });
    has_begun.recv().unwrap();
    (runtime, free)
}

#[test]
fn the_bytes_of_a_dropped_read_are_kept_for_the_next() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (read_end, mut write_end) = pipe();
            let mut file = File::from_std(read_end);
            assert!(poll_once(file.read(&mut [0; 8])).is_pending());
            write_end.write_all(b"0123456789").unwrap();
            let mut bytes = [0; 3];
            assert_eq!(file.read(&mut bytes).await.unwrap(), 3);
            assert_eq!(&bytes, b"012");
            assert_eq!(file.read(&mut [0; 16]).await.unwrap(), 5);
            assert_eq!(file.read(&mut [0; 16]).await.unwrap(), 2);
        });
    }
}

#[test]
fn a_dropped_write_is_written_once_or_not_at_all() {
    let (runtime, free) = with_busy_pool();
    let dir = TempDir::new();
    let path = dir.join("file");
    let std = std::fs::File::create(&path).unwrap();
    runtime.block_on(async {
        let mut file = File::from_std(std);
        // The first write starts on the pool; the second has to wait for it.
        let first = poll_once(file.write(b"first"));
        assert!(matches!(first, Poll::Ready(Ok(5))));
        if poll_once(file.write(b"second")).is_ready() {
            // The file system supports inline writes, so there is nothing to test.
            return;
        }
        free.send(()).unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        file.write_all(b"third").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"firstthird");
    });
}

#[test]
fn try_into_std_fails_while_a_read_is_under_way() {
    multi_thread(1).block_on(async {
        let (read_end, mut write_end) = pipe();
        let mut file = File::from_std(read_end);
        assert!(poll_once(file.read(&mut [0; 8])).is_pending());
        let file = file.try_into_std().unwrap_err();
        write_end.write_all(b"0123").unwrap();
        drop(write_end);
        let mut rest = Vec::new();
        file.into_std().await.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"", "the read under way has taken the bytes");
    });
}

#[test]
fn a_dropped_set_len_is_waited_for_by_the_next_operation() {
    let (runtime, free) = with_busy_pool();
    let dir = TempDir::new();
    let path = dir.file("file", "0123456789");
    let std = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    runtime.block_on(async {
        let mut file = File::from_std(std);
        assert!(poll_once(file.set_len(4)).is_pending());
        let reader = wakeful::spawn(async move {
            let mut text = String::new();
            file.read_to_string(&mut text).await.unwrap();
            text
        });
        wakeful::task::yield_now().await;
        free.send(()).unwrap();
        assert_eq!(reader.await.unwrap(), "0123");
    });
}

#[test]
fn a_dropped_seek_from_the_end_is_waited_for_by_the_next_operation() {
    let (runtime, free) = with_busy_pool();
    let dir = TempDir::new();
    let path = dir.file("file", "0123456789");
    let std = std::fs::File::open(&path).unwrap();
    runtime.block_on(async {
        let mut file = File::from_std(std);
        assert!(poll_once(file.seek(SeekFrom::End(-3))).is_pending());
        assert!(poll_once(file.read(&mut [0; 8])).is_pending());
        free.send(()).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "789");
    });
}

#[test]
fn a_write_completes_after_its_file_is_dropped() {
    for runtime in each_flavor() {
        let (mut read_end, write_end) = pipe();
        runtime.block_on(async {
            let mut file = File::from_std(write_end);
            assert_eq!(file.write(&[7; 500_000]).await.unwrap(), 500_000);
        });
        let mut all = Vec::new();
        read_end.read_to_end(&mut all).unwrap();
        assert!(all == [7; 500_000]);
    }
}

#[test]
fn a_shutdown_runs_the_writes_that_wait_for_a_thread() {
    let (runtime, free) = with_busy_pool();
    let dir = TempDir::new();
    let path = dir.join("file");
    let (cancelled, was_cancelled) = mpsc::channel::<()>();
    let std = std::fs::File::create(&path).unwrap();
    runtime.block_on(async {
        let mut file = File::from_std(std);
        assert!(matches!(poll_once(file.write(b"must be there")), Poll::Ready(Ok(13))));
    });
    let _never_run = runtime.spawn_blocking(move || cancelled.send(()).unwrap());
    let dropper = thread::spawn(move || drop(runtime));
    // The shutdown drops the queued closure and with it the sender.
    assert!(was_cancelled.recv().is_err());
    free.send(()).unwrap();
    dropper.join().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"must be there");
}

#[test]
fn after_a_shutdown_operations_fail_and_do_not_panic() {
    let dir = TempDir::new();
    let path = dir.file("file", "0123456789");
    let runtime = multi_thread(1);
    let handle = runtime.handle().clone();
    runtime.shutdown_timeout(Duration::ZERO);
    let _inside = handle.enter();
    // Operations fail even if their data is cached.
    let error = |poll: Poll<std::io::Result<()>>| match poll {
        Poll::Ready(Err(error)) => error,
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        let read = error(poll_once(fs::read(&path)).map_ok(drop));
        assert_eq!(read.kind(), std::io::ErrorKind::Other);
        error(poll_once(File::open(&path)).map_ok(drop));
    }
    error(poll_once(fs::metadata(&path)).map_ok(drop));
    assert!(matches!(poll_once(fs::write(&path, "x")), Poll::Ready(Err(_))));
    for _ in 0..2 {
        let std = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let mut file = File::from_std(std);
        for _ in 0..2 {
            assert!(matches!(poll_once(file.set_len(1)), Poll::Ready(Err(_))));
            assert!(matches!(poll_once(file.seek(SeekFrom::End(0))), Poll::Ready(Err(_))));
            assert!(matches!(poll_once(file.rewind()), Poll::Ready(Err(_))));
            assert!(matches!(poll_once(file.write(b"x")), Poll::Ready(Err(_))));
            assert!(matches!(poll_once(file.read(&mut [0; 4])), Poll::Ready(Err(_))));
            assert!(matches!(poll_once(file.flush()), Poll::Ready(Ok(()))));
        }
    }
    let written = error(poll_once(wakeful::io::stdout().write(b"x")).map_ok(drop));
    assert!(wakeful::runtime::is_rt_shutdown_err(&written));
    let (read_end, _write_end) = pipe();
    let mut file = File::from_std(read_end);
    for _ in 0..2 {
        assert!(matches!(poll_once(file.read(&mut [0; 4])), Poll::Ready(Err(_))));
    }
}

#[test]
fn a_read_under_way_ends_with_the_shutdown() {
    let (read_end, mut write_end) = pipe();
    let runtime = multi_thread(2);
    let task = runtime.spawn(async move {
        let mut file = File::from_std(read_end);
        file.read(&mut [0; 8]).await
    });
    support::eventually("the read waits on a thread", || {
        runtime.metrics().num_blocking_threads() == 1
    });
    let dropper = thread::spawn(move || drop(runtime));
    write_end.write_all(b"x").unwrap();
    dropper.join().unwrap();
    drop(task);
}

#[test]
fn operations_of_many_tasks_are_dropped_under_way() {
    for runtime in each_flavor() {
        let dir = TempDir::new();
        let path = dir.file("file", vec![7; 100_000]);
        runtime.block_on(async {
            let mut tasks = Vec::new();
            for number in 0..200 {
                let path = path.clone();
                tasks.push(wakeful::spawn(async move {
                    let mut file = OpenOptions::new().read(true).write(true).open(&path).await?;
                    let mut bytes = vec![0; 10_000];
                    loop {
                        file.seek(SeekFrom::Start(number)).await?;
                        file.write_all(&[7; 100]).await?;
                        file.read_exact(&mut bytes).await?;
                        assert!(bytes.iter().all(|&byte| byte == 7));
                        fs::metadata(&path).await?;
                    }
                    #[expect(unreachable_code, reason = "says what the errors are")]
                    std::io::Result::Ok(())
                }));
            }
            for _ in 0..100 {
                wakeful::task::yield_now().await;
            }
            for (number, task) in tasks.iter().enumerate() {
                if number % 2 == 0 {
                    task.abort();
                }
            }
            for _ in 0..100 {
                wakeful::task::yield_now().await;
            }
            // The remaining tasks are dropped with the runtime.
        });
        drop(runtime);
        assert!(std::fs::read(&path).unwrap() == vec![7; 100_000]);
    }
}
