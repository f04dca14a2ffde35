//! What a contender can do, one trait a capability.
//!
//! A contender implements as many as it has the parts for. The functions are static: a runtime is found through its own
//! thread-local or static context, as in a program that uses it.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

/// The core of a runtime: enough for the scheduling and memory cases.
pub trait Runtime: Send + 'static {
    /// Builds a fresh runtime, runs `main` on it as a task, and takes the runtime down.
    fn run<F>(main: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Starts a task at once; the future returned waits for its output.
    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Starts a task nobody waits for.
    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static;

    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// Spawning from a thread that is not one of the runtime's.
pub trait RemoteSpawn: Runtime {
    type Handle: Send + 'static;

    /// The handle of the runtime that the calling task runs on.
    fn handle() -> Self::Handle;

    fn detach_on<F>(handle: &Self::Handle, future: F)
    where
        F: Future<Output = ()> + Send + 'static;
}

/// Waiting for time to pass.
pub trait Timers: Runtime {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static;
}

/// A pool of threads for calls that block.
pub trait SpawnBlocking: Runtime {
    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static;
}

/// A server of TCP connections.
pub trait EchoServer: Runtime {
    /// Serves for ever: a task for each connection reads into a buffer of `buffer_bytes` and sends back what it read.
    fn serve_echo(
        listener: TcpListener,
        buffer_bytes: usize,
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// A client of such a server.
pub trait EchoClient: EchoServer {
    /// Connects, sends so many bytes and waits for them to come back, `times` over.
    fn ask(
        server: SocketAddr,
        bytes: usize,
        times: usize,
        before_each: fn(),
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// A server of HTTP by hyper.
pub trait HelloServer: Runtime {
    /// Serves for ever: answers every request as [`crate::hello`] does.
    fn serve_hello(listener: TcpListener) -> impl Future<Output = ()> + Send + 'static;
}

/// Files.
pub trait FileReads: Runtime {
    /// Opens a file and reads so many blocks of [`crate::cases::file::BLOCK`] bytes from it, one after another.
    fn read_through(path: PathBuf, blocks: usize) -> impl Future<Output = ()> + Send;

    /// Opens a file, reads one block and closes it, `times` over.
    fn open_and_read(path: PathBuf, times: usize) -> impl Future<Output = ()> + Send;
}

/// A channel of the runtime's own, or the one its users take.
pub trait ReadyChannel: Runtime {
    /// Sends to a channel with room and receives from it, `times` over: nothing in this has to wait.
    fn send_and_receive(times: usize) -> impl Future<Output = ()> + Send;
}
