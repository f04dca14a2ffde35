//! The smol family: one `async_executor::Executor` run by several threads, each of them
//! in `async_io::block_on`, and the pool of the `blocking` crate.

use super::channels::AsyncChannel;
use crate::cases;
use crate::hello;
use crate::primitives::{Lock, Permits};
use crate::runtime::{
    EchoClient, EchoServer, FileReads, HelloServer, ReadyChannel, RemoteSpawn, Runtime,
    SpawnBlocking, Timers,
};
use crate::suite::Contender;
use crate::workers;
use async_executor::Executor;
use async_io::Async;
use async_lock::{Mutex, Semaphore};
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use hyper::rt::ReadBufCursor;
use std::future::{Future, pending};
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::DerefMut;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Once, mpsc};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

pub fn multi_thread() -> Contender {
    Contender::new("smol", &["async-executor", "async-io", "async-lock", "blocking"])
        .against("tokio-mt")
        .with(cases::sched::cases::<Smol>())
        .with(cases::sched::timed_cases::<Smol>())
        .with(cases::sched::remote_cases::<Smol>())
        .with(cases::sync::channel_cases::<Smol, AsyncChannel>())
        .with(cases::sync::unbounded_channel_cases::<Smol, AsyncChannel>())
        .with(cases::sync::lock_cases::<Smol, Mutex<u64>>())
        .with(cases::sync::permit_cases::<Smol, Semaphore>())
        .with(cases::blocking::cases::<Smol>())
        .with(cases::file::cases::<Smol>())
        .with(cases::timer::cases::<Smol>())
        .with(cases::fairness::cases::<Smol>())
        .with(cases::blocking_abuse::cases::<Smol>())
        .with(cases::tcp_echo::cases::<Smol>())
        .with(cases::inside::cases::<Smol>())
        .with(cases::paced_echo::cases::<Smol>())
        .with(cases::http::cases::<Smol>())
        .with(cases::mem::cases::<Smol>())
        .with(cases::mem::sleep_cases::<Smol>())
        .with(cases::mem::connection_cases::<Smol>())
}

struct Smol;

/// Static, as in the smol crate. It is new for each sample nevertheless, because each sample has
/// its own process.
static EXECUTOR: Executor<'static> = Executor::new();

fn start_threads() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        for _ in 0..workers::count() {
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

impl Lock for Mutex<u64> {
    fn new() -> Self {
        Mutex::new(0)
    }

    async fn lock(&self) -> impl DerefMut<Target = u64> + Send {
        Mutex::lock(self).await
    }
}

impl Permits for Semaphore {
    fn new(permits: usize) -> Self {
        Semaphore::new(permits)
    }

    async fn acquire(&self) -> impl Send {
        Semaphore::acquire(self).await
    }
}

impl FileReads for Smol {
    async fn read_through(path: PathBuf, blocks: usize) {
        let mut file = async_fs::File::open(path).await.unwrap();
        let mut buffer = vec![0; cases::file::BLOCK];
        for _ in 0..blocks {
            file.read_exact(&mut buffer).await.unwrap();
        }
    }

    async fn open_and_read(path: PathBuf, times: usize) {
        let mut buffer = vec![0; cases::file::BLOCK];
        for _ in 0..times {
            let mut file = async_fs::File::open(&path).await.unwrap();
            file.read_exact(&mut buffer).await.unwrap();
        }
    }
}

impl EchoServer for Smol {
    async fn serve_echo(listener: TcpListener, buffer_bytes: usize) {
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
    }
}

impl EchoClient for Smol {
    async fn ask(server: SocketAddr, bytes: usize, times: usize, before_each: fn()) {
        let mut stream = Async::<TcpStream>::connect(server).await.unwrap();
        stream.get_ref().set_nodelay(true).unwrap();
        let mut buffer = vec![0; bytes];
        for _ in 0..times {
            before_each();
            stream.write_all(&buffer).await.unwrap();
            stream.read_exact(&mut buffer).await.unwrap();
        }
    }
}

impl HelloServer for Smol {
    async fn serve_hello(listener: TcpListener) {
        let listener = Async::new(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.get_ref().set_nodelay(true).unwrap();
            Smol::detach(hello::serve_connection(HyperIo(stream)));
        }
    }
}

impl ReadyChannel for Smol {
    fn send_and_receive(times: usize) -> impl Future<Output = ()> + Send {
        send_and_receive(times)
    }
}

/// Sends and receives on `async-channel`, the channel of this family.
pub async fn send_and_receive(times: usize) {
    let (sender, receiver) = async_channel::bounded(16);
    for i in 0..times {
        sender.send(i).await.unwrap();
        assert_eq!(receiver.recv().await, Ok(i));
    }
}

/// hyper's I/O traits on async-io.
struct HyperIo(Async<TcpStream>);

impl hyper::rt::Read for HyperIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: this function only writes initialized bytes to the unfilled part of the buffer.
        let unfilled = unsafe { buffer.as_mut() };
        // async-io reads only into initialized memory.
        unfilled.fill(MaybeUninit::new(0));
        // SAFETY: `fill` has just initialized all bytes, and `MaybeUninit<u8>` has the layout of
        // `u8`. The slice borrows `unfilled` mutably, so nothing else accesses the bytes.
        let bytes = unsafe { &mut *(std::ptr::from_mut(unfilled) as *mut [u8]) };
        let n = ready!(Pin::new(&mut self.0).poll_read(cx, bytes))?;
        // SAFETY: the read has filled the first `n` bytes.
        unsafe { buffer.advance(n) };
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for HyperIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}
