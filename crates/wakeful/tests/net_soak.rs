//! Many connections, many rounds, and clients that disconnect at random.
//!
//! It is the only test of its program, because it counts the descriptors of the process.

mod support;

use std::io;
use support::multi_thread;
use support::net::{open_descriptors, raise_descriptor_limit};
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::{TcpListener, TcpStream};
use wakeful::task::JoinSet;

/// A deterministic pseudo-random generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Returns the number of rounds before the client disconnected, if it did.
async fn client(address: std::net::SocketAddr, rounds: u64, seed: u64) -> io::Result<u64> {
    let mut rng = Rng(seed * 2 + 1);
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    for round in 0..rounds {
        let len = 1 + rng.below(3000) as usize;
        let sent: Vec<u8> = (0..len).map(|n| (n as u64 ^ round ^ seed) as u8).collect();
        match rng.below(200) {
            // Disconnects in the middle of a message.
            0 => {
                stream.write_all(&sent[..len / 2]).await?;
                return Ok(round);
            }
            // Disconnects without waiting for the echo.
            1 => {
                stream.write_all(&sent).await?;
                stream.set_zero_linger()?;
                return Ok(round);
            }
            _ => {}
        }
        stream.write_all(&sent).await?;
        let mut received = vec![0; len];
        stream.read_exact(&mut received).await?;
        assert!(received == sent, "client {seed}, round {round}");
    }
    Ok(rounds)
}

async fn serve(mut stream: TcpStream) {
    let mut buf = [0; 1024];
    loop {
        match stream.read(&mut buf).await {
            Ok(0) | Err(_) => return,
            Ok(n) => {
                if stream.write_all(&buf[..n]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[test]
fn every_round_is_echoed_and_no_descriptor_leaks() {
    let is_long = std::env::var_os("WAKEFUL_STRESS_SECONDS").is_some();
    let (connections, rounds) = if is_long { (5000, 200) } else { (500, 50) };
    let allowed = raise_descriptor_limit();
    // The first runtime of a process opens a descriptor for signals, which stays open.
    drop(multi_thread(1));
    let before = open_descriptors();
    assert!(allowed > 2 * connections + 100, "{allowed} descriptors are not enough");
    let runtime = multi_thread(2);
    let whole = runtime.block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = wakeful::spawn(async move {
            let mut served = JoinSet::new();
            for _ in 0..connections {
                let (stream, _) = listener.accept().await.unwrap();
                // Otherwise an echo in several writes would wait for delayed acknowledgements.
                stream.set_nodelay(true).unwrap();
                served.spawn(serve(stream));
            }
            while let Some(end) = served.join_next().await {
                end.unwrap();
            }
        });
        let mut clients = JoinSet::new();
        for seed in 0..connections {
            clients.spawn(client(address, rounds, seed));
        }
        let mut whole = 0;
        while let Some(end) = clients.join_next().await {
            whole += u64::from(end.unwrap().unwrap() == rounds);
        }
        server.await.unwrap();
        whole
    });
    assert!(whole > 0 && whole < connections, "{whole} of {connections} completed all rounds");
    drop(runtime);
    assert_eq!(open_descriptors(), before);
}
