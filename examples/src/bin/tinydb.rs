//! A tiny database: a map whose changes survive a crash, because they are in a write-ahead log
//! (WAL) before they are acknowledged.
//!
//! ```text
//! cargo run -p examples --bin tinydb -- my.wal
//! nc 127.0.0.1 PORT                             # SET key value | GET key | DEL key
//!
//! SET, DEL ─▶ channel ─▶ writer: take all that wait ─▶ append ─▶ sync ─▶ map ─▶ "OK" to each
//! GET ─────────────────────────────────────────────────────────────────▶ map
//! ```
//!
//! Shows: one task that owns a file; group commit, one sync for many changes; a log's torn end.

use std::collections::BTreeMap;
use std::env;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The most changes in one commit. When the channel is full, connections wait.
const COMMIT_MAX: usize = 256;

type Map = BTreeMap<String, String>;
type Shared = Arc<RwLock<Map>>;

/// A change of the map, and where to report that it is safe. No value means: remove the key.
struct Change {
    key: String,
    value: Option<String>,
    done: oneshot::Sender<()>,
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let path = env::args().nth(1).ok_or(io::Error::other("usage: tinydb FILE"))?;
    // Nothing else runs yet, so blocking calls are fine here.
    let (file, map) = recover(Path::new(&path))?;
    println!("recovered {} keys", map.len());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);

    let map = Arc::new(RwLock::new(map));
    let (changes, queue) = mpsc::channel(COMMIT_MAX);
    let mut writer = tokio::spawn(write_changes(File::from_std(file), queue, map.clone()));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                // An error in the task ends this connection only; the client sees it closed.
                Ok((stream, _)) => drop(tokio::spawn(serve(stream, map.clone(), changes.clone()))),
                Err(_too_many_open) => sleep(Duration::from_millis(100)).await,
            },
            // After a failed write or sync, the file may contain anything. The next start reads it.
            outcome = &mut writer => return outcome?,
        }
    }
}

/// Serves a connection until the client ends.
async fn serve(mut stream: TcpStream, map: Shared, changes: Sender<Change>) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await? {
        let mut words = line.splitn(3, ' ');
        let (command, key) = (words.next().unwrap_or(""), words.next().unwrap_or("").to_owned());
        let value = words.next().map(str::to_owned);
        let answer = match (command, value) {
            // The guard is dropped at the end of the statement, before the next `.await`.
            ("GET", None) => map.read().unwrap().get(&key).cloned().unwrap_or("NONE".into()),
            ("SET", value @ Some(_)) | ("DEL", value @ None) => {
                let (done, safe) = oneshot::channel();
                let sent = changes.send(Change { key, value, done }).await;
                // If the writer has ended, nothing is safe: no answer, and the connection ends.
                let (Ok(()), Ok(())) = (sent, safe.await) else { return Ok(()) };
                "OK".into()
            }
            _ => "ERROR: SET key value | GET key | DEL key".into(),
        };
        writer.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Writes changes to the log, and then to the map. Ends if the file does not take them.
async fn write_changes(mut file: File, mut queue: Receiver<Change>, map: Shared) -> io::Result<()> {
    let mut batch = Vec::new();
    // Waits for one change and takes all that are there. During a sync, the next ones gather.
    while queue.recv_many(&mut batch, COMMIT_MAX).await > 0 {
        let records: Vec<u8> = batch.iter().flat_map(record).collect();
        file.write_all(&records).await?;
        file.sync_data().await?; // Not only to the kernel, but to the disk.
        for change in batch.drain(..) {
            apply(&mut map.write().unwrap(), change.key, change.value);
            let _ = change.done.send(()); // The client may be gone.
        }
    }
    Ok(())
}

fn apply(map: &mut Map, key: String, value: Option<String>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

/// Returns a change as a line of the log: a checksum, and what is below it.
fn record(change: &Change) -> Vec<u8> {
    let text = match &change.value {
        Some(value) => format!("SET {} {value}", change.key),
        None => format!("DEL {}", change.key),
    };
    format!("{:08x} {text}\n", checksum(&text)).into_bytes()
}

/// FNV-1a: enough to recognize a line that a crash has torn.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Reads the log, and cuts off a torn end: what is in it was never acknowledged.
fn recover(path: &Path) -> io::Result<(std::fs::File, Map)> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    let (mut log, mut map, mut good_bytes) = (Vec::new(), Map::new(), 0);
    file.read_to_end(&mut log)?;
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = intact(line) else { break };
        let mut words = text.splitn(3, ' ').skip(1).map(str::to_owned);
        apply(&mut map, words.next().unwrap_or_default(), words.next());
        good_bytes += line.len() as u64;
    }
    file.set_len(good_bytes)?;
    // A new file is only there after a crash if its folder is on the disk, too.
    std::fs::File::open(std::path::absolute(path)?.parent().unwrap_or(path))?.sync_all()?;
    Ok((file, map))
}

/// Returns the change of a line of the log, if the line is complete.
fn intact(line: &[u8]) -> Option<&str> {
    let (sum, text) = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.split_once(' ')?;
    (u32::from_str_radix(sum, 16) == Ok(checksum(text))).then_some(text)
}
