//! Questions and answers over UDP, where packets get lost.
//!
//! ```text
//! cargo run -p examples --bin udp -- server              # prints the address it listens on
//! cargo run -p examples --bin udp -- client ADDRESS some words
//! ```
//!
//! The server answers in capitals. With `server --lossy` it ignores two of three packets.
//!
//! Shows: one socket for many peers, a timeout with retries that wait longer each time, and how the
//! client recognizes the answer that belongs to its question.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

/// The most that fits in a packet on most networks.
const PACKET_MAX: usize = 1400;

/// The time to wait for the first answer; doubled for each retry.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const TRIES: u32 = 6;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["server"] => serve(false).await,
        ["server", "--lossy"] => serve(true).await,
        ["client", address, ref words @ ..] => {
            let address = address.parse().map_err(io::Error::other)?;
            println!("{}", ask(address, &words.join(" ")).await?);
            Ok(())
        }
        _ => Err(io::Error::other("usage: udp server [--lossy] | udp client ADDRESS WORDS…")),
    }
}

/// Answers all packets. One socket and one task serve all clients: UDP has no connections.
async fn serve(is_lossy: bool) -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    println!("listening on {}", socket.local_addr()?);
    let mut packet = [0; PACKET_MAX];
    for number in 1_u64.. {
        // Returns one packet, or its beginning if the buffer is too small.
        let (length, peer) = socket.recv_from(&mut packet).await?;
        if is_lossy && number % 3 != 0 {
            continue;
        }
        // The first four bytes are the number of the question, and go back unchanged.
        let Some((id, text)) = packet[..length].split_at_checked(4) else { continue };
        let answer = [id, String::from_utf8_lossy(text).to_uppercase().as_bytes()].concat();
        // An error concerns this peer only.
        if let Err(error) = socket.send_to(&answer, peer).await {
            eprintln!("{peer}: {error}");
        }
    }
    Ok(())
}

/// Sends the question until an answer arrives.
async fn ask(server: SocketAddr, text: &str) -> io::Result<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    // From now on only packets of this server are received, and the kernel reports if nothing
    // listens on its port.
    socket.connect(server).await?;
    let mut wait = FIRST_WAIT;
    for number in 0..TRIES {
        // Each try has a number, so that a late answer to an earlier one is recognized.
        let question = [&number.to_be_bytes(), text.as_bytes()].concat();
        socket.send(&question).await?;
        match timeout(wait, answer_to(&socket, number)).await {
            Ok(answer) => return answer,
            Err(_elapsed) => wait *= 2,
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer to {TRIES} packets")))
}

/// Waits for the answer to this try. Late answers to earlier ones say the same, so they count too.
async fn answer_to(socket: &UdpSocket, number: u32) -> io::Result<String> {
    let mut packet = [0; PACKET_MAX];
    loop {
        let length = socket.recv(&mut packet).await?;
        let Some((id, text)) = packet[..length].split_first_chunk() else { continue };
        if u32::from_be_bytes(*id) <= number {
            return Ok(String::from_utf8_lossy(text).into_owned());
        }
    }
}
