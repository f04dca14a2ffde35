//! Sockets.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rt::io::{AsyncReadExt, AsyncWriteExt};
use rt::net::{UnixListener, UnixStream};

use super::requests::{pacer, since_us};
use super::{Outcome, join_all, no_third, percentile};
use machine::work_us;

pub async fn streams(workers: u64) -> Outcome {
    let (pairs, rounds) = (4 * workers, 30);
    let mut tasks = Vec::new();
    for _ in 0..pairs {
        let (mut client, mut server) = UnixStream::pair().expect("a pair of sockets");
        tasks.push(rt::spawn(async move {
            let mut buffer = [0; 64];
            for _ in 0..rounds {
                work_us(3);
                client.write_all(&buffer).await.expect("the server reads");
                client.read_exact(&mut buffer).await.expect("the server answers");
            }
        }));
        tasks.push(rt::spawn(async move {
            let mut buffer = [0; 64];
            while server.read_exact(&mut buffer).await.is_ok() {
                work_us(3);
                if server.write_all(&buffer).await.is_err() {
                    break;
                }
            }
        }));
    }
    join_all(tasks).await;
    no_third(pairs * rounds)
}

/// Each message is the time at which it was sent, after the start.
pub async fn paced(workers: u64) -> Outcome {
    let (connections, requests, work) = (4 * workers, 40 * workers, 20);
    // A fifth of what the workers can do.
    let gap = Duration::from_nanos(1000 * work * 5 / workers);
    let start = Instant::now();
    let serve = move |mut stream: UnixStream| async move {
        let (mut latencies, mut buffer) = (Vec::new(), [0; 16]);
        while stream.read_exact(&mut buffer).await.is_ok() {
            work_us(work);
            let sent = Duration::from_nanos(u128::from_le_bytes(buffer) as u64);
            latencies.push(since_us(start + sent));
        }
        latencies
    };
    let (mut clients, mut tasks) = (Vec::new(), Vec::new());
    for _ in 0..connections {
        let (client, server) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        server.set_nonblocking(true).expect("sockets can be made nonblocking");
        clients.push(client);
        tasks.push(rt::spawn(serve(UnixStream::from_std(server).expect("it can be registered"))));
    }
    let thread = pacer(requests, gap, move |number| {
        let message = start.elapsed().as_nanos().to_le_bytes();
        let client = &mut clients[(number % connections) as usize];
        client.write_all(&message).expect("the server reads");
    });
    let latencies = join_all(tasks).await.concat();
    thread.join().expect("the thread does not panic");
    Outcome { operations: requests, third_us: percentile(latencies, 0.99) }
}

pub async fn accept(workers: u64) -> Outcome {
    // Each round listens at a name of its own: an abstract one, which needs no file.
    static ROUND: AtomicU32 = AtomicU32::new(0);
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let name = format!("\0wakeful-manycore-{:08}-{round:04}", std::process::id());
    let listener = UnixListener::bind(&name).expect("the name is free");
    let server = rt::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("connections can be accepted");
            rt::spawn(answer(stream));
        }
    });
    let (clients, requests) = (2 * workers, 10);
    let request_all = move |name: String| async move {
        let mut latencies = Vec::new();
        for _ in 0..requests {
            let start = Instant::now();
            request(&name).await;
            latencies.push(since_us(start));
        }
        latencies
    };
    let tasks = (0..clients).map(|_| rt::spawn(request_all(name.clone()))).collect();
    let latencies = join_all(tasks).await.concat();
    server.abort();
    Outcome { operations: clients * requests, third_us: percentile(latencies, 0.99) }
}

async fn answer(mut stream: UnixStream) {
    let mut buffer = [0; 16];
    stream.read_exact(&mut buffer).await.expect("the client writes");
    work_us(5);
    stream.write_all(&buffer).await.expect("the client reads");
}

async fn request(name: &str) {
    let mut stream = UnixStream::connect(name).await.expect("the server listens");
    let mut buffer = [0; 16];
    stream.write_all(&buffer).await.expect("the server reads");
    stream.read_exact(&mut buffer).await.expect("the server answers");
}
