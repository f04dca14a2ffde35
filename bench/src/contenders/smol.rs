//! The smol family: one `async_executor::Executor` run by two threads, each under `async_io::block_on`, beside the pool
//! of the blocking crate.

use crate::cases;
use crate::runtime::{EchoServer, RemoteSpawn, Runtime, SpawnBlocking, Timers};
use crate::suite::Contender;
use async_executor::Executor;
use async_io::Async;
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use std::future::{Future, pending};
use std::net::TcpListener;
use std::sync::{Once, mpsc};
use std::thread;
use std::time::Duration;

pub fn two_threads() -> Contender {
    Contender::new("smol", &["async-executor", "async-io", "blocking"])
        .against("tokio-mt")
        .with(cases::sched::cases::<Smol>())
        .with(cases::sched::remote_cases::<Smol>())
        .with(cases::blocking::cases::<Smol>())
        .with(cases::timer::cases::<Smol>())
        .with(cases::tcp_echo::cases::<Smol>())
        .with(cases::mem::cases::<Smol>())
        .with(cases::mem::sleep_cases::<Smol>())
}

struct Smol;

/// Static, as in the smol crate; fresh all the same, since every sample has its own process.
static EXECUTOR: Executor<'static> = Executor::new();

fn start_threads() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        for _ in 0..2 {
            thread::spawn(|| async_io::block_on(EXECUTOR.run(pending::<()>())));
        }
    });
}

impl Runtime for Smol {
    fn run<F>(main: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        start_threads();
        let (output, finished) = mpsc::channel();
        EXECUTOR.spawn(async move { output.send(main.await).unwrap() }).detach();
        finished.recv().expect("the main task sends its output unless it panics")
    }

    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        EXECUTOR.spawn(future)
    }

    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        EXECUTOR.spawn(future).detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}

impl RemoteSpawn for Smol {
    type Handle = &'static Executor<'static>;

    fn handle() -> Self::Handle {
        &EXECUTOR
    }

    fn detach_on<F>(handle: &Self::Handle, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        handle.spawn(future).detach();
    }
}

impl Timers for Smol {
    async fn sleep(duration: Duration) {
        async_io::Timer::after(duration).await;
    }
}

impl SpawnBlocking for Smol {
    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        blocking::unblock(work)
    }
}

impl EchoServer for Smol {
    fn serve_echo(listener: TcpListener, buffer_bytes: usize) {
        Smol::run(async move {
            let listener = Async::new(listener).unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.get_ref().set_nodelay(true).unwrap();
                Smol::detach(async move {
                    let mut buffer = vec![0; buffer_bytes];
                    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                        let Ok(()) = stream.write_all(&buffer[..n]).await else { break };
                    }
                });
            }
        })
    }
}
