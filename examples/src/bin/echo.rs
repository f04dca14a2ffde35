//! A TCP server that sends back what it receives.
//!
//! ```text
//! cargo run -p examples --bin echo              # prints the address it listens on
//! nc 127.0.0.1 PORT                             # in another terminal: type lines
//! ```
//!
//! Shows: one task for each connection, buffered reading and writing, errors that end one connection
//! and not the server.

use std::env;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> io::Result<()> {
    // Port 0 lets the system choose a free port.
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // The task runs on its own: the loop accepts the next connection at once. `move`
                // gives the stream to the task, which closes it by dropping it at its end.
                tokio::spawn(async move {
                    match echo(stream).await {
                        Ok(bytes) => println!("{peer}: {bytes} bytes"),
                        Err(error) => eprintln!("{peer}: {error}"),
                    }
                });
            }
            Err(error) => {
                // Mostly "too many open files". The connection stays in the kernel's queue, so an
                // immediate retry would fail again, and again: wait until others have ended.
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Sends everything back until the client closes its side. Returns the number of bytes.
async fn echo(mut stream: TcpStream) -> io::Result<u64> {
    let mut buffer = vec![0; 16 * 1024];
    let mut total = 0;
    loop {
        // While no data is there, this task is parked and costs no CPU time.
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(total); // The client has closed its side.
        }
        // A slow client stops this task here, and so also the reading: no data piles up.
        stream.write_all(&buffer[..count]).await?;
        total += count as u64;
    }
}
