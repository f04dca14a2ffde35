//! A server that shuts down gracefully: it finishes what it has begun, within a limit.
//!
//! ```text
//! cargo run -p examples --bin shutdown
//! nc 127.0.0.1 PORT                             # each line is answered after half a second
//! Ctrl-C, or `kill PID`, in the server's terminal
//! ```
//!
//! The order matters: (1) stop accepting, (2) tell all tasks, (3) wait for them, (4) after the
//! limit abort those that are left, (5) save what must be saved.

use std::env;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The time that tasks have to finish. Service managers send SIGKILL after a limit of their own:
/// stay below it.
const GRACE: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    // Ctrl-C sends SIGINT; service managers and containers send SIGTERM.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // A `watch` keeps its last value: a task that looks late still learns of the change.
    let (stop, stopped) = watch::channel(());
    // The set owns the tasks, so that none is forgotten.
    let mut connections = JoinSet::new();
    let mut answered = 0;

    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, stopped.clone()))),
                Err(error) => {
                    eprintln!("cannot accept: {error}");
                    sleep(Duration::from_millis(100)).await;
                }
            },
            // Collects tasks that have ended; without this the set would grow.
            Some(ended) = connections.join_next() => answered += ended.unwrap_or(0),
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
        }
    }

    drop(listener); // 1. New clients are refused at once, and go to another instance.
    println!("stopping: {} connections", connections.len());
    stop.send_replace(()); // 2.
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            answered += ended.unwrap_or(0);
        }
    };
    // 3. A second signal ends the wait early.
    let in_time = tokio::select! {
        outcome = timeout(GRACE, all_ended) => outcome.is_ok(),
        _ = interrupt.recv() => false,
        _ = terminate.recv() => false,
    };
    if !in_time {
        println!("aborting {} connections", connections.len());
        connections.shutdown().await; // 4.
    }
    println!("answered {answered} lines"); // 5. Here a program flushes logs and files.
    Ok(())
}

/// Answers lines until the client ends or the server stops. Returns the number of answers.
async fn serve(stream: TcpStream, mut stopped: watch::Receiver<()>) -> u64 {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let mut answered = 0;
    loop {
        // Only the wait for a request ends early. `biased` polls from top to bottom: a line that
        // has arrived is answered, also after the stop.
        let line = tokio::select! {
            biased;
            line = lines.next_line() => line,
            _ = stopped.changed() => {
                let _ = writer.write_all(b"bye\n").await;
                return answered;
            }
        };
        let Ok(Some(line)) = line else { return answered };
        sleep(Duration::from_millis(500)).await; // The work.
        if writer.write_all(format!("done: {line}\n").as_bytes()).await.is_err() {
            return answered;
        }
        answered += 1;
    }
}
