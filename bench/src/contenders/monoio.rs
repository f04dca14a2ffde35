//! monoio with its io_uring driver: one thread; tasks never move.

use super::thread_bound::ThreadBound;
use crate::cases;
use crate::runtime::{EchoServer, FileReads, ReadyChannel, Runtime, SpawnBlocking, Timers};
use crate::suite::Contender;
use monoio::blocking::DefaultThreadPool;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use std::future::Future;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

pub fn one_thread() -> Contender {
    Contender::new("monoio", &["monoio"])
        .against("tokio-mt")
        .with(cases::sched::cases::<Monoio>())
        .with(cases::sched::timed_cases::<Monoio>())
        .with(cases::blocking::cases::<Monoio>())
        .with(cases::file::cases::<Monoio>())
        .with(cases::timer::cases::<Monoio>())
        .with(cases::fairness::cases::<Monoio>())
        .with(cases::tcp_echo::cases::<Monoio>())
        .with(cases::paced_echo::cases::<Monoio>())
        .with(cases::mem::cases::<Monoio>())
        .with(cases::mem::sleep_cases::<Monoio>())
        .with(cases::mem::connection_cases::<Monoio>())
}

struct Monoio;

impl Runtime for Monoio {
    fn run<F>(main: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        monoio::RuntimeBuilder::<monoio::IoUringDriver>::new()
            .with_entries(1024)
            .enable_timer()
            // By default, monoio has no thread pool.
            .attach_thread_pool(Box::new(DefaultThreadPool::new(4)))
            .build()
            .unwrap()
            .block_on(async { monoio::spawn(main).await })
    }

    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        ThreadBound::new(monoio::spawn(future))
    }

    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        monoio::spawn(future);
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}

impl Timers for Monoio {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        ThreadBound::new(monoio::time::sleep(duration))
    }
}

impl SpawnBlocking for Monoio {
    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let handle = monoio::spawn_blocking(work);
        ThreadBound::new(async move { handle.await.expect("the pool runs the work") })
    }
}

impl FileReads for Monoio {
    fn read_through(path: PathBuf, blocks: usize) -> impl Future<Output = ()> + Send {
        ThreadBound::new(async move {
            let file = monoio::fs::File::open(path).await.unwrap();
            let mut buffer = vec![0; cases::file::BLOCK];
            for block in 0..blocks {
                let at = (block * cases::file::BLOCK) as u64;
                let (read, bytes) = file.read_exact_at(buffer, at).await;
                read.unwrap();
                buffer = bytes;
            }
        })
    }

    fn open_and_read(path: PathBuf, times: usize) -> impl Future<Output = ()> + Send {
        ThreadBound::new(async move {
            let mut buffer = vec![0; cases::file::BLOCK];
            for _ in 0..times {
                let file = monoio::fs::File::open(&path).await.unwrap();
                let (read, bytes) = file.read_exact_at(buffer, 0).await;
                read.unwrap();
                buffer = bytes;
            }
        })
    }
}

impl EchoServer for Monoio {
    fn serve_echo(
        listener: TcpListener,
        buffer_bytes: usize,
    ) -> impl Future<Output = ()> + Send + 'static {
        ThreadBound::new(async move {
            listener.set_nonblocking(true).unwrap();
            let listener = monoio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                monoio::spawn(async move {
                    let mut buffer = Vec::with_capacity(buffer_bytes);
                    loop {
                        let (read, bytes) = stream.read(buffer).await;
                        let Ok(1..) = read else { break };
                        let (written, bytes) = stream.write_all(bytes).await;
                        let Ok(_) = written else { break };
                        buffer = bytes;
                        buffer.clear();
                    }
                });
            }
        })
    }
}

impl ReadyChannel for Monoio {
    // monoio has no channel of its own.
    fn send_and_receive(times: usize) -> impl Future<Output = ()> + Send {
        super::smol::send_and_receive(times)
    }
}
