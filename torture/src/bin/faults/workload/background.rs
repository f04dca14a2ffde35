//! Tasks that keep a runtime busy while faults occur.

use super::same;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::UnixStream;
use wakeful::runtime::Runtime;
use wakeful::sync::mpsc;
use wakeful::time::sleep;

/// How long each of these tasks may make no progress.
const LIMIT: Duration = Duration::from_secs(5);

const SOCKET: &str = "socket";

/// Tasks that count their progress.
pub struct Background {
    counters: Vec<(&'static str, Arc<AtomicU64>)>,
    /// The error that ended the socket's task, if any.
    socket: Arc<OnceLock<io::Error>>,
}

impl Background {
    /// Starts the tasks on `runtime`. If no socket pair can be created, the socket's task is left
    /// out.
    pub fn start(runtime: &Runtime) -> Background {
        let mut background = Background { counters: Vec::new(), socket: Arc::default() };
        let _inside = runtime.enter();
        let ticks = background.counter("ticker");
        wakeful::spawn(async move {
            loop {
                sleep(Duration::from_millis(1)).await;
                ticks.fetch_add(1, Relaxed);
            }
        });
        let rounds = background.counter("messages");
        wakeful::spawn(pass_messages(rounds));
        let blocks = background.counter("a task that blocks");
        wakeful::spawn(async move {
            loop {
                sleep(Duration::from_millis(20)).await;
                thread::sleep(Duration::from_millis(4));
                blocks.fetch_add(1, Relaxed);
            }
        });
        if let Ok((one, other)) = UnixStream::pair() {
            let rounds = background.counter(SOCKET);
            let socket = background.socket.clone();
            wakeful::spawn(async move {
                if let Err(error) = ping(one, other, rounds).await {
                    // Only this task sets it.
                    let _ = socket.set(error);
                }
            });
        }
        background
    }

    fn counter(&mut self, name: &'static str) -> Arc<AtomicU64> {
        let counter = Arc::default();
        self.counters.push((name, Arc::clone(&counter)));
        counter
    }

    /// Checks that all tasks still make progress.
    pub fn check(&self, runtime: &Runtime) -> Result<(), String> {
        let before: Vec<u64> = self.counters.iter().map(|(_, count)| count.load(Relaxed)).collect();
        let begun = Instant::now();
        for ((name, count), before) in self.counters.iter().zip(before) {
            while count.load(Relaxed) == before {
                if let Some(error) = self.socket.get().filter(|_| *name == SOCKET) {
                    return Err(format!("socket: {error}"));
                }
                same(name, begun.elapsed() > LIMIT, false)
                    .map_err(|_| format!("{name}: no progress for {LIMIT:?}"))?;
                runtime.block_on(async { sleep(Duration::from_millis(1)).await });
            }
        }
        Ok(())
    }
}

async fn pass_messages(rounds: Arc<AtomicU64>) {
    let (to, mut from) = mpsc::channel::<u64>(1);
    wakeful::spawn(async move {
        let mut n = 0;
        while to.send(n).await.is_ok() {
            n += 1;
        }
    });
    while from.recv().await.is_some() {
        rounds.fetch_add(1, Relaxed);
        if rounds.load(Relaxed) % 16 == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Sends a byte back and forth.
async fn ping(
    mut one: UnixStream,
    mut other: UnixStream,
    rounds: Arc<AtomicU64>,
) -> io::Result<()> {
    let answers = async {
        loop {
            let byte = other.read_u8().await?;
            other.write_u8(byte).await?;
        }
    };
    let asks = async {
        loop {
            one.write_u8(1).await?;
            one.read_u8().await?;
            rounds.fetch_add(1, Relaxed);
            sleep(Duration::from_millis(1)).await;
        }
    };
    wakeful::try_join!(asks, answers).map(|((), ())| ())
}
