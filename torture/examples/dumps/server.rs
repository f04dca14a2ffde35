//! The server: answers each request with the path that was asked for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use wakeful::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use wakeful::net::{TcpListener, TcpStream};
use wakeful::runtime::Runtime;
use wakeful::sync::oneshot;
use wakeful::time::sleep;

/// Long enough for any run.
const IDLE_FOR: Duration = Duration::from_secs(24 * 3600);

/// Two ways at each of so many calls make 1024 stacks.
const DEPTH: u32 = 10;

/// Prints the port and serves until the process is killed.
pub fn run(idle: u64, stacks: u64) {
    let runtime = Runtime::new().expect("a runtime can be built");
    runtime.block_on(async {
        for _ in 0..idle {
            wakeful::spawn(sleep(IDLE_FOR));
        }
        let mut senders = Vec::new();
        for path in 0..stacks {
            let (sender, receiver) = oneshot::channel();
            senders.push(sender);
            wakeful::spawn(descend(path, DEPTH, receiver));
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("{}", listener.local_addr().expect("it is bound").port());
        loop {
            let (stream, _) = listener.accept().await.expect("connections can be accepted");
            wakeful::spawn(async move {
                // The client has gone.
                let _ = serve(stream).await;
            });
        }
    });
}

async fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let (mut path, mut line) = (String::new(), String::new());
    loop {
        path.clear();
        if stream.read_line(&mut path).await? == 0 {
            return Ok(());
        }
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
        }
        line.clear();
        let path = path.split(' ').nth(1).unwrap_or_default();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{path}", path.len());
        stream.get_mut().write_all(answer.as_bytes()).await?;
    }
}

type Descent = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits below a stack of calls that the bits of `path` choose.
fn descend(path: u64, depth: u32, receiver: oneshot::Receiver<()>) -> Descent {
    match (depth, path & 1) {
        (0, _) => Box::pin(async move { drop(receiver.await) }),
        (_, 0) => Box::pin(async move { descend(path >> 1, depth - 1, receiver).await }),
        _ => Box::pin(async move { descend(path >> 1, depth - 1, receiver).await }),
    }
}
