//! The requests, and what they took.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::TcpStream;
use wakeful::runtime::Builder;
use wakeful::task::JoinSet;
use wakeful::time::{sleep, timeout};

/// A request that takes longer has failed.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// What the clients share with the thread that requests dumps.
pub struct Load {
    port: u16,
    pause: Duration,
    is_over: AtomicBool,
    /// Odd during a dump.
    dumps: AtomicU64,
    results: Mutex<Results>,
}

#[derive(Default)]
struct Results {
    during: Vec<Duration>,
    between: Vec<Duration>,
    failed: Vec<String>,
}

impl Load {
    pub fn new(port: u16, pause: Duration) -> Load {
        Load {
            port,
            pause,
            is_over: AtomicBool::new(false),
            dumps: AtomicU64::new(0),
            results: Mutex::default(),
        }
    }

    pub fn begin_dump(&self) {
        self.dumps.fetch_add(1, Relaxed);
    }

    pub fn end_dump(&self) {
        self.dumps.fetch_add(1, Relaxed);
    }

    pub fn stop(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Returns why requests failed.
    pub fn failed(&self) -> Vec<String> {
        self.results.lock().expect("no thread panics with it").failed.clone()
    }

    /// Returns the times of the requests that a dump overlapped, and of the others.
    pub fn latencies(&self) -> (Vec<Duration>, Vec<Duration>) {
        let results = self.results.lock().expect("no thread panics with it");
        (results.during.clone(), results.between.clone())
    }

    /// Makes requests on one connection until the end.
    async fn make_requests(&self) -> Results {
        let mut results = Results::default();
        let mut stream = None;
        let mut number = 0_u64;
        while !self.is_over.load(Relaxed) {
            number += 1;
            let (begun, before) = (Instant::now(), self.dumps.load(Relaxed));
            let outcome = timeout(REQUEST_MAX, self.request(&mut stream, number)).await;
            match outcome.unwrap_or_else(|elapsed| Err(elapsed.into())) {
                Err(why) => {
                    results.failed.push(why.to_string());
                    stream = None;
                }
                Ok(()) if before % 2 == 1 || self.dumps.load(Relaxed) != before => {
                    results.during.push(begun.elapsed());
                }
                Ok(()) => results.between.push(begun.elapsed()),
            }
            if !self.pause.is_zero() {
                sleep(self.pause).await;
            }
        }
        results
    }

    async fn request(&self, stream: &mut Option<TcpStream>, number: u64) -> io::Result<()> {
        if stream.is_none() {
            let new = TcpStream::connect(("127.0.0.1", self.port)).await?;
            new.set_nodelay(true)?;
            *stream = Some(new);
        }
        let stream = stream.as_mut().expect("it was connected above");
        let path = format!("/{number}");
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let expected = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{path}", path.len());
        let mut answer = vec![0; expected.len()];
        stream.read_exact(&mut answer).await?;
        if answer != expected.as_bytes() {
            return Err(io::Error::other(format!(
                "wrong answer {:?}",
                answer.escape_ascii().to_string()
            )));
        }
        Ok(())
    }
}

/// Starts a thread that makes requests on so many connections until [`Load::stop`].
pub fn start(load: &Arc<Load>, connections: u64) -> JoinHandle<()> {
    let load = load.clone();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be built").block_on(async {
            let mut clients = JoinSet::new();
            for _ in 0..connections {
                let load = load.clone();
                clients.spawn(async move { load.make_requests().await });
            }
            while let Some(results) = clients.join_next().await {
                let Results { during, between, failed } = results.expect("no client panics");
                let mut all = load.results.lock().expect("no thread panics with it");
                all.during.extend(during);
                all.between.extend(between);
                all.failed.extend(failed);
            }
        });
    })
}

/// Returns the median, the 99th percentile and the maximum, as text.
pub fn figures(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let Some(max) = times.last() else { return "none".to_owned() };
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    format!("p50 {:.2?}, p99 {:.2?}, max {max:.2?}", at(50), at(99))
}
