//! A task holds a mutex while it reads from a peer that says nothing; fifty tasks wait for it.
//!
//! No deadlock: the peer may answer yet. It is what hangs many servers nevertheless.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::sleep;

/// Accepts a connection, and answers each byte if there is something to answer with.
async fn peer(listener: TcpListener, answer: Option<u8>) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = [0];
    while stream.read_exact(&mut request).await.is_ok() {
        if let Some(answer) = answer {
            sleep(Duration::from_millis(5)).await;
            stream.write_all(&[answer]).await.unwrap();
        }
    }
}

async fn call(stream: Arc<Mutex<TcpStream>>) {
    let mut stream = stream.lock().await;
    stream.write_all(b"?").await.unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).await.unwrap();
}

async fn call_again_and_again(stream: Arc<Mutex<TcpStream>>) {
    loop {
        call(stream.clone()).await;
        println!("tick");
    }
}

async fn connect(answer: Option<u8>) -> Arc<Mutex<TcpStream>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(peer(listener, answer));
    Arc::new(Mutex::new(TcpStream::connect(address).await.unwrap()))
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let stream = connect(None).await;
        let first = tokio::spawn(call(stream.clone()));
        while stream.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        for _ in 0..50 {
            tokio::spawn(call(stream.clone()));
        }
        println!("ready");
        first.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let stream = connect(Some(b'!')).await;
        for _ in 0..50 {
            tokio::spawn(call_again_and_again(stream.clone()));
        }
        println!("ready");
        std::future::pending::<()>().await;
    });
}
