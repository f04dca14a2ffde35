//! Traits for the capabilities of a runtime.
//!
//! A contender implements those for which it has the parts. The functions are static: they find the
//! runtime through its own thread-local or static context, as programs that use it do.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

/// The core of a runtime: enough for the scheduling and memory cases.
pub trait Runtime: Send + 'static {
    /// Builds a new runtime, runs `main` on it as a task, and drops the runtime.
    fn run<F>(main: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Spawns a task at once. The returned future waits for its output.
    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Spawns a task without waiting for it.
    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static;

    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// Spawning from a thread outside the runtime.
pub trait RemoteSpawn: Runtime {
    type Handle: Send + 'static;

    /// Returns a handle of the runtime that runs the calling task.
    fn handle() -> Self::Handle;

    fn detach_on<F>(handle: &Self::Handle, future: F)
    where
        F: Future<Output = ()> + Send + 'static;
}

/// Sleeping.
pub trait Timers: Runtime {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static;
}

/// Sleeps whose deadline can be changed.
pub trait ResetSleeps: Runtime {
    type Sleep: Future<Output = ()>;

    /// Builds a new runtime and runs `main` on the calling thread, which is not a worker.
    fn block_on<F: Future>(main: F) -> F::Output;

    fn new_sleep(duration: Duration) -> Self::Sleep;

    fn reset(sleep: Pin<&mut Self::Sleep>, after: Duration);
}

/// Detection of polls that block their worker.
pub trait StallCounts: Runtime {
    /// Returns how often a poll blocked its worker, on the runtime that runs the calling task.
    fn stalls() -> u64;

    /// Returns how often another thread took over a blocked worker.
    fn handoffs() -> u64;
}

/// A pool of threads for blocking calls.
pub trait SpawnBlocking: Runtime {
    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static;
}

/// A server of TCP connections.
pub trait EchoServer: Runtime {
    /// Serves until the process ends. Each connection has a task, which reads into a buffer of
    /// `buffer_bytes` and sends back what it has read.
    fn serve_echo(
        listener: TcpListener,
        buffer_bytes: usize,
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// A client of an echo server.
pub trait EchoClient: EchoServer {
    /// Connects, then sends `bytes` bytes and waits for their echo, `times` times.
    fn ask(
        server: SocketAddr,
        bytes: usize,
        times: usize,
        before_each: fn(),
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// An HTTP server based on hyper.
pub trait HelloServer: Runtime {
    /// Serves until the process ends. Answers every request as [`crate::hello`] does.
    fn serve_hello(listener: TcpListener) -> impl Future<Output = ()> + Send + 'static;
}

/// Files.
pub trait FileReads: Runtime {
    /// Opens a file and reads `blocks` blocks of [`crate::cases::file::BLOCK`] bytes, one after
    /// another.
    fn read_through(path: PathBuf, blocks: usize) -> impl Future<Output = ()> + Send;

    /// Opens a file, reads one block and closes it, `times` times.
    fn open_and_read(path: PathBuf, times: usize) -> impl Future<Output = ()> + Send;
}

/// The runtime's own channel, or the one that its users choose.
pub trait ReadyChannel: Runtime {
    /// Sends and receives `times` values on a channel with free capacity, so that no operation has
    /// to wait.
    fn send_and_receive(times: usize) -> impl Future<Output = ()> + Send;
}
