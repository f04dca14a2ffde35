//! The program that `cargo xtask hello` builds on Tokio and on the drop-in: a listener, a task, a
//! sleep.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
        stream.write_all(b"hello").await
    });
    let mut said = String::new();
    TcpStream::connect(address).await?.read_to_string(&mut said).await?;
    server.await.unwrap()?;
    println!("{said}");
    Ok(())
}
