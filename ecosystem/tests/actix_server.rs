//! actix-server: its workers are threads with runtimes of their own, beside the runtime that the
//! server is started on.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::net::TcpListener as StdListener;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use actix_server::{Server, ServerHandle};
use actix_service::fn_service;
use ecosystem::{payload, same_bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

ecosystem::on_each_runtime!(
    connections_are_served_by_all_workers,
    a_graceful_stop_waits_for_open_connections,
    no_more_connections_are_served_at_once_than_the_limit,
    a_paused_server_accepts_again,
);

/// The threads that have served a connection.
type Threads = Arc<Mutex<HashSet<ThreadId>>>;

/// Sends back what comes, until the client closes its direction.
async fn echo(mut stream: TcpStream, threads: Threads) -> io::Result<()> {
    threads.lock().unwrap().insert(thread::current().id());
    let (mut reader, mut writer) = stream.split();
    tokio::io::copy(&mut reader, &mut writer).await?;
    writer.shutdown().await
}

/// A server that runs on two workers, and its end.
struct Running {
    address: SocketAddr,
    handle: ServerHandle,
    threads: Threads,
    end: tokio::task::JoinHandle<io::Result<()>>,
}

impl Running {
    fn start(connections_max: usize) -> Running {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let threads = Threads::default();
        let server = {
            let threads = threads.clone();
            let service = move || {
                let threads = threads.clone();
                fn_service(move |stream| echo(stream, threads.clone()))
            };
            Server::build()
                .workers(2)
                .max_concurrent_connections(connections_max)
                .shutdown_timeout(60)
                .disable_signals()
                .listen("echo", listener, service)
                .unwrap()
                .run()
        };
        let handle = server.handle();
        Running { address, handle, threads, end: tokio::spawn(server) }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn stop(self) {
        self.handle.stop(true).await;
        self.end.await.unwrap().unwrap();
    }
}

/// Sends the text and returns whether it comes back in time.
async fn is_answered(stream: &mut TcpStream, limit: Duration) -> bool {
    stream.write_all(b"ping").await.unwrap();
    let mut answer = [0; 4];
    let answered = timeout(limit, stream.read_exact(&mut answer)).await;
    if let Ok(outcome) = &answered {
        outcome.as_ref().unwrap();
        assert_eq!(&answer, b"ping");
    }
    answered.is_ok()
}

const LONG: Duration = Duration::from_secs(60);

async fn connections_are_served_by_all_workers() {
    let server = Running::start(1000);
    let clients: JoinSet<()> = (0..40)
        .map(|number| {
            let address = server.address;
            async move {
                let sent = payload(100_000 + number);
                let mut stream = TcpStream::connect(address).await.unwrap();
                let (mut reader, mut writer) = stream.split();
                let sending = async {
                    writer.write_all(&sent).await.unwrap();
                    writer.shutdown().await.unwrap();
                };
                let mut came = Vec::new();
                let (_, outcome) = tokio::join!(sending, reader.read_to_end(&mut came));
                outcome.unwrap();
                same_bytes(&came, &sent);
            }
        })
        .collect();
    clients.join_all().await;
    assert_eq!(server.threads.lock().unwrap().len(), 2);
    assert!(!server.threads.lock().unwrap().contains(&thread::current().id()));
    server.stop().await;
}

async fn a_graceful_stop_waits_for_open_connections() {
    let server = Running::start(1000);
    let mut open = server.connect().await;
    assert!(is_answered(&mut open, LONG).await);
    let Running { address, handle, end, .. } = server;
    let stopping = tokio::spawn(handle.stop(true));
    // The listener is closed first.
    while TcpStream::connect(address).await.is_ok() {
        sleep(Duration::from_millis(5)).await;
    }
    assert!(is_answered(&mut open, LONG).await);
    assert!(!stopping.is_finished());
    drop(open);
    timeout(LONG, stopping).await.unwrap().unwrap();
    end.await.unwrap().unwrap();
}

async fn no_more_connections_are_served_at_once_than_the_limit() {
    // Two workers serve one connection each.
    let server = Running::start(1);
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert!(is_answered(&mut first, LONG).await && is_answered(&mut second, LONG).await);
    let mut third = server.connect().await;
    assert!(!is_answered(&mut third, Duration::from_millis(100)).await);
    drop(first);
    let mut answer = [0; 4];
    timeout(LONG, third.read_exact(&mut answer)).await.unwrap().unwrap();
    drop((second, third));
    server.stop().await;
}

async fn a_paused_server_accepts_again() {
    let server = Running::start(1000);
    assert!(is_answered(&mut server.connect().await, LONG).await);
    server.handle.pause().await;
    // The listener is told to pause; it may still accept a connection or two.
    let mut waits = server.connect().await;
    while is_answered(&mut waits, Duration::from_millis(100)).await {
        waits = server.connect().await;
    }
    server.handle.resume().await;
    let mut answer = [0; 4];
    timeout(LONG, waits.read_exact(&mut answer)).await.unwrap().unwrap();
    drop(waits);
    server.stop().await;
}

/// Work that a service gives to the blocking pool of its worker goes on beside other connections.
#[test]
fn a_service_may_use_the_blocking_pool_of_its_worker() {
    ecosystem::on_multi_thread(|| async {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let permits = Arc::new(Semaphore::new(0));
        let service = {
            let permits = permits.clone();
            move || {
                let permits = permits.clone();
                fn_service(move |mut stream: TcpStream| {
                    let permits = permits.clone();
                    async move {
                        permits.add_permits(1);
                        let square = actix_rt::task::spawn_blocking(|| {
                            thread::sleep(Duration::from_millis(50));
                            7_u8 * 7
                        });
                        stream.write_u8(square.await.unwrap()).await
                    }
                })
            }
        };
        let server = Server::build().workers(1).worker_max_blocking_threads(8).disable_signals();
        let server = server.listen("square", listener, service).unwrap().run();
        let handle = server.handle();
        let end = tokio::spawn(server);
        let clients: JoinSet<u8> =
            (0..8)
                .map(|_| async move {
                    TcpStream::connect(address).await.unwrap().read_u8().await.unwrap()
                })
                .collect();
        assert_eq!(clients.join_all().await, [49; 8]);
        assert_eq!(permits.available_permits(), 8);
        handle.stop(true).await;
        end.await.unwrap().unwrap();
    });
}
