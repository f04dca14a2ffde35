//! Two threads at the two ends of a stream: every byte arrives once and in order, and no wake-up is
//! lost.
//!
//! Runs for about a second, or for `WAKEFUL_STRESS_SECONDS`.

use std::env;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use wakeful_base::FastRng;
use wakeful_io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, copy, duplex,
    simplex, split,
};

const BYTES: usize = if cfg!(miri) { 200 } else { 20_000 };

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Parks the thread between polls, and panics if a wake-up is lost.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(thread::current())).into();
    let cx = &mut Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return output;
        }
        let asleep = Instant::now();
        thread::park_timeout(Duration::from_secs(20));
        assert!(asleep.elapsed() < Duration::from_secs(20), "lost wake-up");
    }
}

/// Returns the byte expected at a position of the stream.
fn byte_at(position: usize) -> u8 {
    (position as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]
}

async fn send(mut writer: impl AsyncWrite + Unpin, rng: FastRng) {
    let bytes: Vec<u8> = (0..BYTES).map(byte_at).collect();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let n = (1 + rng.below(100) as usize).min(rest.len());
        let n = writer.write(&rest[..n]).await.unwrap();
        rest = &rest[n..];
    }
    writer.shutdown().await.unwrap();
}

async fn receive(mut reader: impl AsyncRead + Unpin, rng: FastRng) {
    let mut position = 0;
    loop {
        let mut buf = [0; 100];
        let len = 1 + rng.below(100) as usize;
        let n = reader.read(&mut buf[..len]).await.unwrap();
        if n == 0 {
            break;
        }
        for byte in &buf[..n] {
            assert_eq!(*byte, byte_at(position), "at {position}");
            position += 1;
        }
    }
    assert_eq!(position, BYTES);
}

/// Repeats `round` with different seeds until the time is up.
fn for_a_while(round: impl Fn(&FastRng)) {
    let seconds = env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|s| s.parse().ok());
    // The four tests share the time.
    let end = Instant::now() + Duration::from_millis(seconds.map_or(250, |s: u64| s * 250));
    let rng = FastRng::from_entropy();
    loop {
        round(&rng);
        if Instant::now() >= end || cfg!(miri) {
            break;
        }
    }
}

fn next(rng: &FastRng) -> FastRng {
    FastRng::from_seed(rng.next_u64())
}

/// Runs one side on a new thread and the other on this one.
fn both(here: impl Future<Output = ()>, there: impl Future<Output = ()> + Send) {
    thread::scope(|scope| {
        scope.spawn(|| block_on(there));
        block_on(here);
    });
}

#[test]
fn simplex_between_threads() {
    for_a_while(|rng| {
        let (reader, writer) = simplex(1 + rng.below(64) as usize);
        both(receive(reader, next(rng)), send(writer, next(rng)));
    });
}

#[test]
fn duplex_between_threads() {
    for_a_while(|rng| {
        let (near, far) = duplex(1 + rng.below(64) as usize);
        both(receive(near, next(rng)), send(far, next(rng)));
    });
}

/// Both ends are split, and each of the four halves has its own thread.
#[test]
fn split_duplex_between_threads() {
    for_a_while(|rng| {
        let (near, far) = duplex(1 + rng.below(64) as usize);
        let ((near_in, near_out), (far_in, far_out)) = (split(near), split(far));
        let rngs = [next(rng), next(rng), next(rng), next(rng)];
        let [a, b, c, d] = rngs;
        thread::scope(|scope| {
            scope.spawn(|| block_on(receive(near_in, a)));
            scope.spawn(|| block_on(send(near_out, b)));
            scope.spawn(|| block_on(receive(far_in, c)));
            block_on(send(far_out, d));
        });
    });
}

/// The bytes pass through a copy and buffers. The sender drops its end instead of shutting it down.
#[test]
fn copies_between_threads() {
    for_a_while(|rng| {
        let (source, mut inbound) = duplex(1 + rng.below(64) as usize);
        let (mut outbound, sink) = duplex(1 + rng.below(64) as usize);
        let rngs = [next(rng), next(rng)];
        let [a, b] = rngs;
        thread::scope(|scope| {
            scope.spawn(|| block_on(send(BufWriter::with_capacity(50, source), a)));
            scope.spawn(|| {
                block_on(async move {
                    copy(&mut inbound, &mut outbound).await.unwrap();
                })
            });
            block_on(receive(BufReader::with_capacity(50, sink), b));
        });
    });
}
