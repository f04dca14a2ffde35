//! A server under load: sockets, blocking jobs and timers, with much in the queues at each dump.
//!
//! Tokio issue 6343: the assertion of issue 6051 still failed in such a server, with version 1.35.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::Rounds;

async fn answer(mut stream: TcpStream) {
    while let Ok(number) = stream.read_u64().await {
        let answer = match number % 4 {
            0 => spawn_blocking(move || number + 1).await.unwrap(),
            1 => tokio::spawn(async move { number + 1 }).await.unwrap(),
            2 => {
                sleep(Duration::from_millis(1)).await;
                number + 1
            }
            _ => number + 1,
        };
        stream.write_u64(answer).await.unwrap();
    }
}

async fn serve(listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(answer(stream));
    }
}

/// Sends numbers, and returns how many were answered rightly.
async fn client(address: SocketAddr) -> u64 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut right = 0;
    for number in 0..100 {
        stream.write_u64(number).await.unwrap();
        let answer = timeout(Duration::from_secs(60), stream.read_u64()).await.unwrap().unwrap();
        right += u64::from(answer == number + 1);
    }
    right
}

pub fn run(runtime: Runtime) {
    let rounds = Rounds::start();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener));
        while rounds.go_on() {
            let mut clients = JoinSet::new();
            for _ in 0..16 {
                clients.spawn(client(address));
            }
            assert_eq!(clients.join_all().await.into_iter().sum::<u64>(), 1600);
        }
    });
    println!("done");
}
