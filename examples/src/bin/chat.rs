//! A chat room over TCP. The first line of a client is its name; every further line goes to all
//! other clients.
//!
//! ```text
//! cargo run -p examples --bin chat
//! nc 127.0.0.1 PORT                             # in two terminals
//! ```
//!
//! Shows: `broadcast`, a channel whose messages go to every receiver; `select!`, which waits for
//! two things at once; what to do about a client that reads too slowly.

use std::env;
use std::io;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::{self, error::RecvError};

/// The room keeps this many messages for clients that are behind.
const BACKLOG: usize = 100;

/// A line, and the number of the client that wrote it.
#[derive(Clone)]
struct Message {
    from: u64,
    text: String,
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let (room, _) = broadcast::channel(BACKLOG);
    for number in 0.. {
        let (stream, _) = listener.accept().await?;
        let room = room.clone();
        tokio::spawn(async move {
            if let Err(error) = serve(stream, number, room).await {
                eprintln!("client {number}: {error}");
            }
        });
    }
    Ok(())
}

/// Serves a client from its name to its end.
async fn serve(stream: TcpStream, number: u64, room: broadcast::Sender<Message>) -> io::Result<()> {
    // The halves can be used at the same time: one waits for the client, the other writes to it.
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"your name?\n").await?;
    let Some(name) = lines.next_line().await? else { return Ok(()) };

    // Subscribe first, or messages between the greeting and the subscription would be lost.
    let messages = room.subscribe();
    say(&room, number, format!("{name} has joined"));
    writer.write_all(b"welcome\n").await?;
    let outcome = talk(&mut lines, &mut writer, messages, number, &name, &room).await;
    // Also if the connection broke.
    say(&room, number, format!("{name} has left"));
    outcome
}

/// Passes lines on, in both directions, until the client ends.
async fn talk(
    lines: &mut Lines<BufReader<OwnedReadHalf>>,
    writer: &mut OwnedWriteHalf,
    mut messages: broadcast::Receiver<Message>,
    number: u64,
    name: &str,
    room: &broadcast::Sender<Message>,
) -> io::Result<()> {
    loop {
        // Waits for whichever comes first. The other future is dropped and created anew in the next
        // round. That loses nothing, because both are *cancel safe*: `next_line` keeps a half-read
        // line in `lines`, and `recv` takes a message only when it returns it.
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(text) => say(room, number, format!("{name}: {text}")),
                None => return Ok(()),
            },
            message = messages.recv() => match message {
                Ok(message) if message.from == number => {} // The client's own.
                Ok(message) => writer.write_all(format!("{}\n", message.text).as_bytes()).await?,
                // The client was too slow, and the oldest messages are gone. The room goes on.
                Err(RecvError::Lagged(missed)) => {
                    writer.write_all(format!("({missed} lines missed)\n").as_bytes()).await?;
                }
                Err(RecvError::Closed) => return Ok(()),
            },
        }
    }
}

fn say(room: &broadcast::Sender<Message>, from: u64, text: String) {
    // The only error is that the room is empty.
    let _ = room.send(Message { from, text });
}
