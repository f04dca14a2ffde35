//! compio on io_uring: one thread; tasks never move.

use super::thread_bound::ThreadBound;
use crate::cases;
use crate::runtime::{EchoServer, ReadyChannel, Runtime, SpawnBlocking, Timers};
use crate::suite::Contender;
use compio::BufResult;
use compio::io::{AsyncRead, AsyncWriteExt};
use std::future::Future;
use std::net::TcpListener;
use std::time::Duration;

pub fn one_thread() -> Contender {
    Contender::new("compio", &["compio"])
        .against("tokio-mt")
        .with(cases::sched::cases::<Compio>())
        .with(cases::sched::timed_cases::<Compio>())
        .with(cases::blocking::cases::<Compio>())
        .with(cases::timer::cases::<Compio>())
        .with(cases::fairness::cases::<Compio>())
        .with(cases::tcp_echo::cases::<Compio>())
        .with(cases::paced_echo::cases::<Compio>())
        .with(cases::mem::cases::<Compio>())
        .with(cases::mem::sleep_cases::<Compio>())
        .with(cases::mem::connection_cases::<Compio>())
}

struct Compio;

impl Runtime for Compio {
    fn run<F>(main: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let runtime = compio::runtime::Runtime::new().unwrap();
        runtime.block_on(async { Compio::spawn(main).await })
    }

    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let handle = compio::runtime::spawn(future);
        ThreadBound::new(async move { handle.await.expect("no task panics") })
    }

    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        compio::runtime::spawn(future).detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}

impl Timers for Compio {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        ThreadBound::new(compio::time::sleep(duration))
    }
}

impl SpawnBlocking for Compio {
    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let handle = compio::runtime::spawn_blocking(work);
        ThreadBound::new(async move { handle.await.expect("the pool runs the work") })
    }
}

impl EchoServer for Compio {
    fn serve_echo(
        listener: TcpListener,
        buffer_bytes: usize,
    ) -> impl Future<Output = ()> + Send + 'static {
        ThreadBound::new(async move {
            listener.set_nonblocking(true).unwrap();
            let listener = compio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let connection = async move {
                    let mut buffer = Vec::with_capacity(buffer_bytes);
                    loop {
                        let BufResult(read, bytes) = stream.read(buffer).await;
                        let Ok(1..) = read else { break };
                        let BufResult(written, bytes) = stream.write_all(bytes).await;
                        let Ok(_) = written else { break };
                        buffer = bytes;
                        buffer.clear();
                    }
                };
                compio::runtime::spawn(connection).detach();
            }
        })
    }
}

impl ReadyChannel for Compio {
    // compio has no channel of its own.
    fn send_and_receive(times: usize) -> impl Future<Output = ()> + Send {
        super::smol::send_and_receive(times)
    }
}
