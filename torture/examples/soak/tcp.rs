//! Clients and servers on 127.0.0.1 that close, half-close, reset and time out.
//!
//! A message is a header of 11 bytes (kind, length, id) and bytes made from the id. The server
//! sends it back, at once or late, or resets the connection.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::{TcpListener, TcpStream};
use wakeful::select;
use wakeful::sync::oneshot;
use wakeful::time::{sleep, timeout};
use wakeful_torture::rng::Rng;

use crate::scene::{Scene, join, join_all, moment};
use crate::sums::{Pair, SUMS, finding, note};

const CLIENTS: usize = 8;
const EXCHANGES_MAX: usize = 60;
const BYTES_MAX: usize = 6000;

/// When a late answer comes, and how long its client waits.
const LATE: Duration = Duration::from_millis(8);
const IMPATIENCE: Duration = Duration::from_millis(2);

/// How long an opened connection may wait to be accepted, and a handler may outlive its client.
const LIMIT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    AtOnce,
    Late,
    Reset,
}

/// Runs clients and their server until the scene ends.
pub async fn run(mut scene: Scene) {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("cannot listen on 127.0.0.1");
    let address = listener.local_addr().expect("a listener has an address");
    let opened = Arc::new(AtomicU64::new(0));
    let (stop, stopped) = oneshot::channel();
    let server = scene.spawn(serve(scene.clone(), listener, opened.clone(), stopped));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (client_scene, rng) = (scene.clone(), scene.rng());
            scene.spawn(client(client_scene, address, opened.clone(), rng))
        })
        .collect();
    join_all(clients).await;
    stop.send(()).expect("the server waits for it");
    join(server).await;
}

async fn serve(
    scene: Scene,
    listener: TcpListener,
    opened: Arc<AtomicU64>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut accepted = 0;
    let mut handlers = Vec::new();
    let mut has_stopped = false;
    loop {
        select! {
            connection = listener.accept() => match connection {
                Ok((stream, _)) => {
                    accepted += 1;
                    SUMS.right(Pair::Connections, 1);
                    handlers.push(scene.spawn(handle(stream)));
                }
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {
                    note("connections aborted before they were accepted");
                }
                Err(error) => finding(format!("accept: {error}")),
            },
            _ = &mut stopped, if !has_stopped => has_stopped = true,
            () = sleep(LIMIT), if has_stopped => {
                finding("opened connections were not accepted");
                break;
            }
        }
        if handlers.len() > 100 {
            join_finished(&mut handlers).await;
        }
        if has_stopped && accepted == opened.load(SeqCst) {
            break;
        }
    }
    if timeout(LIMIT, join_all(handlers)).await.is_err() {
        finding("the handler of a connection did not end after its client");
    }
}

async fn join_finished(handlers: &mut Vec<wakeful::task::JoinHandle<()>>) {
    let all = std::mem::take(handlers).into_iter();
    let (finished, others): (Vec<_>, Vec<_>) = all.partition(|handler| handler.is_finished());
    *handlers = others;
    join_all(finished).await;
}

async fn handle(mut stream: TcpStream) {
    SUMS.left(Pair::Handlers, 1);
    // The client may go away in any way, so errors are not findings.
    _ = answer(&mut stream).await;
    SUMS.right(Pair::Handlers, 1);
}

async fn answer(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; HEADER + BYTES_MAX];
    loop {
        if stream.read_exact(&mut buffer[..HEADER]).await.is_err() {
            // The client has shut down its side; this side is still open.
            return stream.shutdown().await;
        }
        let (kind, len) = parse(&buffer);
        stream.read_exact(&mut buffer[HEADER..HEADER + len]).await?;
        match kind {
            Kind::AtOnce => {}
            Kind::Late => sleep(LATE).await,
            Kind::Reset => return stream.set_zero_linger(),
        }
        stream.write_all(&buffer[..HEADER + len]).await?;
    }
}

async fn client(scene: Scene, address: SocketAddr, opened: Arc<AtomicU64>, mut rng: Rng) {
    while scene.should_continue() {
        let stream = match TcpStream::connect(address).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                note("waits for a free port");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
            Err(error) => return finding(format!("connect: {error}")),
        };
        opened.fetch_add(1, SeqCst);
        SUMS.left(Pair::Connections, 1);
        let rounds = rng.below(EXCHANGES_MAX);
        if let Err(error) = connection(&scene, stream, rounds, &mut rng).await {
            finding(format!("a connection failed that should have worked: {error}"));
        }
    }
}

/// Exchanges some messages, then ends the connection in one of several ways.
async fn connection(
    scene: &Scene,
    mut stream: TcpStream,
    rounds: usize,
    rng: &mut Rng,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    for _ in 0..rounds {
        SUMS.left(Pair::Echoes, 1);
        exchange(&mut stream, Kind::AtOnce, rng).await?;
        SUMS.right(Pair::Echoes, 1);
    }
    match rng.below(8) {
        0 => half_close(stream).await?,
        1 => {
            note("connections reset within a message");
            stream.write_all(&message(Kind::AtOnce, rng)[..HEADER]).await?;
            stream.set_zero_linger()?;
        }
        2 => {
            note("connections dropped before the answer");
            stream.write_all(&message(Kind::AtOnce, rng)).await?;
        }
        3 => {
            let late = timeout(IMPATIENCE, exchange(&mut stream, Kind::Late, rng)).await;
            late.map_or_else(|_| note("exchanges timed out"), |_| note("late exchanges in time"));
            stream.set_zero_linger()?;
        }
        4 => {
            let limit = moment(rng, 400);
            select! {
                _ = exchange(&mut stream, Kind::AtOnce, rng) => note("exchanges done in time"),
                () = sleep(limit) => note("exchanges given up"),
            }
        }
        5 => abort_in_the_middle(scene, stream, rng).await,
        6 => {
            note("connections reset by the server");
            let reset = exchange(&mut stream, Kind::Reset, rng).await;
            if reset.is_ok() {
                finding("an answer arrived on a connection that was reset");
            }
        }
        _ => both_ways(scene, stream, rng).await?,
    }
    Ok(())
}

/// Shuts down the writing side. The end of the stream must follow, without further bytes.
async fn half_close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await?;
    if !rest.is_empty() {
        finding(format!("{} bytes after the last answer", rest.len()));
    }
    note("connections half-closed");
    Ok(())
}

async fn abort_in_the_middle(scene: &Scene, mut stream: TcpStream, rng: &mut Rng) {
    let (mut numbers, limit) = (rng.fork(), moment(rng, 2000));
    let task = scene.spawn(async move {
        loop {
            if exchange(&mut stream, Kind::AtOnce, &mut numbers).await.is_err() {
                finding("an exchange failed in a task that is to be aborted");
                return pending().await;
            }
        }
    });
    sleep(limit).await;
    task.abort();
    join(task).await;
}

/// Writes messages in one task and reads the answers in this one.
async fn both_ways(scene: &Scene, stream: TcpStream, rng: &mut Rng) -> io::Result<()> {
    let messages: Vec<_> = (0..10).map(|_| message(Kind::AtOnce, rng)).collect();
    let expected = messages.concat();
    let (mut reader, mut writer) = stream.into_split();
    SUMS.left(Pair::Echoes, messages.len() as u64);
    let count = messages.len() as u64;
    let task = scene.spawn(async move {
        for message in messages {
            if let Err(error) = writer.write_all(&message).await {
                finding(format!("the writing half: {error}"));
            }
        }
        // Dropping the writing half shuts down its side.
    });
    let mut answers = Vec::new();
    reader.read_to_end(&mut answers).await?;
    if answers == expected {
        SUMS.right(Pair::Echoes, count);
    }
    join(task).await;
    Ok(())
}

async fn exchange(stream: &mut TcpStream, kind: Kind, rng: &mut Rng) -> io::Result<()> {
    let sent = message(kind, rng);
    stream.write_all(&sent).await?;
    let mut received = vec![0; sent.len()];
    stream.read_exact(&mut received).await?;
    if sent == received {
        Ok(())
    } else {
        Err(io::Error::other("the answer differs from the message"))
    }
}

const HEADER: usize = 1 + 2 + 8;

fn message(kind: Kind, rng: &mut Rng) -> Vec<u8> {
    let (len, id) = (rng.below(BYTES_MAX), rng.next_u64());
    let mut message = vec![kind as u8];
    message.extend((len as u16).to_be_bytes());
    message.extend(id.to_be_bytes());
    message.extend((0..len).map(|at| (id >> (at % 8 * 8)) as u8 ^ at as u8));
    message
}

fn parse(header: &[u8]) -> (Kind, usize) {
    let kind = match header[0] {
        0 => Kind::AtOnce,
        1 => Kind::Late,
        _ => Kind::Reset,
    };
    (kind, u16::from_be_bytes([header[1], header[2]]) as usize)
}
