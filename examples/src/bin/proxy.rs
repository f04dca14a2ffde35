//! A TCP proxy: passes every connection on to another address.
//!
//! ```text
//! cargo run -p examples --bin proxy -- TARGET            # prints the address it listens on
//! cargo run -p examples --bin proxy -- TARGET LISTEN
//! ```
//!
//! Shows: `copy_bidirectional`, a limit on connections by a semaphore, a timeout on connecting, and
//! how the end of one direction is passed on while the other goes on.

use std::env;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

const CONNECTIONS_MAX: usize = 1000;
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let Some(target) = args.next() else {
        return Err(io::Error::other("usage: proxy TARGET [LISTEN]"));
    };
    let listener = TcpListener::bind(args.next().as_deref().unwrap_or("127.0.0.1:0")).await?;
    println!("listening on {}", listener.local_addr()?);

    let target: Arc<str> = target.into();
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Take the permit first: at the limit, new connections wait in the kernel's queue, where
        // they cost neither a task nor a descriptor.
        let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let (client, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let target = target.clone();
        tokio::spawn(async move {
            // The task owns the permit. Dropping it returns it, however the task ends.
            let _permit = permit;
            match pass_on(client, &target).await {
                Ok((sent, received)) => println!("{peer}: {sent} bytes there, {received} back"),
                Err(error) => eprintln!("{peer}: {error}"),
            }
        });
    }
}

/// Connects to the target, and copies in both directions until both have ended.
async fn pass_on(mut client: TcpStream, target: &str) -> io::Result<(u64, u64)> {
    // Without a timeout, a target that drops packets would hold the client for minutes.
    let mut server = match timeout(CONNECT_LIMIT, TcpStream::connect(target)).await {
        Ok(connected) => connected?,
        Err(_elapsed) => return Err(io::ErrorKind::TimedOut.into()),
    };
    // Small messages should not wait for more data to fill a packet.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // When one side ends its direction, the other side sees the end of that direction only; its
    // answer still gets through.
    copy_bidirectional(&mut client, &mut server).await
}
