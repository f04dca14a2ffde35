//! Clients of the service: requests over loopback, from a thread and a runtime of their own.
//!
//! Each connection has a request due every 20 ms, whether or not the last one was answered in time,
//! and latency counts from the time it was due. If the service is stuck for a second, every request
//! that waited is counted with its full delay, and not just one slow request per connection.

use crate::response::Head;
use crate::show::Show;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::TcpStream;
use wakeful::runtime::Builder;
use wakeful::sync::watch;
use wakeful::time::{Instant, sleep, sleep_until};

/// The maximum number of connections that the page may ask for.
pub const CONNECTIONS_MAX: usize = 256;
/// The number of connections at the start.
pub const CONNECTIONS_AT_FIRST: usize = 64;
const PERIOD: Duration = Duration::from_millis(20);
/// A client that is further behind skips requests, which would show nothing new.
const BEHIND_MAX: Duration = Duration::from_secs(5);

const REQUEST: &[u8] = b"GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// The thread of the clients.
pub struct Load {
    /// `None` when the thread is to end.
    connections: watch::Sender<Option<usize>>,
    thread: JoinHandle<()>,
}

/// Sets the number of connections.
#[derive(Clone)]
pub struct LoadSwitch(watch::Sender<Option<usize>>);

impl Load {
    pub fn start(show: Arc<Show>, service: SocketAddr) -> io::Result<Load> {
        let (connections, wanted) = watch::channel(Some(CONNECTIONS_AT_FIRST));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = thread::Builder::new().name("load".to_owned()).spawn(move || {
            runtime.block_on(async {
                for place in 0..CONNECTIONS_MAX {
                    wakeful::spawn(client(show.clone(), service, place, wanted.clone()));
                }
                let mut wanted = wanted;
                let _nobody_switches = wanted.wait_for(Option::is_none).await;
            });
        })?;
        Ok(Load { connections, thread })
    }

    pub fn switch(&self) -> LoadSwitch {
        LoadSwitch(self.connections.clone())
    }

    pub fn stop(self) {
        self.connections.send_replace(None);
        self.thread.join().expect("clients do not panic");
    }
}

impl LoadSwitch {
    pub fn set(&self, connections: usize) {
        // Does nothing after the end.
        self.0.send_if_modified(|wanted| {
            wanted.as_mut().is_some_and(|wanted| {
                *wanted = connections;
                true
            })
        });
    }

    pub fn connections(&self) -> usize {
        self.0.borrow().unwrap_or(0)
    }
}

/// One client. It is connected while more than `place` connections are wanted.
async fn client(
    show: Arc<Show>,
    service: SocketAddr,
    place: usize,
    mut wanted: watch::Receiver<Option<usize>>,
) {
    let is_wanted = |wanted: &Option<usize>| wanted.is_some_and(|wanted| place < wanted);
    while wanted.wait_for(is_wanted).await.is_ok() {
        let is_wanted = || is_wanted(&wanted.borrow());
        if requests(&show, service, place, is_wanted).await.is_err() {
            show.failed_requests.fetch_add(1, Relaxed);
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Sends requests on one connection.
async fn requests(
    show: &Show,
    service: SocketAddr,
    place: usize,
    is_wanted: impl Fn() -> bool,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(service).await?;
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    // Spreads the connections over the period. The order spreads a small number of connections
    // evenly, too.
    let phase = PERIOD.mul_f64((place as f64 * 0.618_034).fract());
    let mut due = Instant::now() + phase;
    while is_wanted() {
        sleep_until(due).await;
        stream.write_all(REQUEST).await?;
        answer(&mut stream, &mut buffer).await?;
        show.requests.record(due.elapsed());
        due += PERIOD;
        if due.elapsed() > BEHIND_MAX {
            due = Instant::now();
        }
    }
    Ok(())
}

/// Reads one answer to its end.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    loop {
        if let Some(head) = Head::parse(buffer)? {
            if head.status != 200 {
                return Err(io::Error::other(format!("status {}", head.status)));
            }
            if buffer.len() >= head.length + head.content_length.unwrap_or(0) {
                return Ok(());
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
