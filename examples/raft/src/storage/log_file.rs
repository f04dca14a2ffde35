//! The log's file: a line with a checksum and a [`Record`] as JSON for each change of the log.
//!
//! One task owns the file. It takes all commands that wait, writes them, syncs once, and reports each
//! one done. A record is thus on disk before anything that depends on it goes to another node.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use openraft::storage::LogFlushed;
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};

use super::files;
use crate::types::{Entry, LogId, TypeConfig, Vote};

/// The most commands that are written at once.
const BATCH_MAX: usize = 256;

/// A change of the log.
#[derive(Clone, Deserialize, Serialize)]
pub enum Record {
    Vote(Vote),
    Entry(Entry),
    /// The entries up to this one are known to be committed.
    Committed(Option<LogId>),
    /// The entries from this index on are gone: another leader has others.
    Truncated(u64),
    /// The entries up to this one are gone: a snapshot has them.
    Purged(LogId),
}

/// What the task is asked to do.
pub enum Command {
    /// Appends records, and reports to openraft when they are on disk.
    AppendEntries(Vec<Record>, LogFlushed<TypeConfig>),
    /// Appends a record, and reports when it is on disk.
    Append(Record, oneshot::Sender<()>),
    /// Appends a record that may get lost.
    Note(Record),
    /// Replaces the whole file.
    Replace(Vec<Record>, oneshot::Sender<()>),
}

/// Reads the log. Starts the task, and returns the way to it with the records that were found.
pub fn open(path: PathBuf) -> io::Result<(mpsc::UnboundedSender<Command>, Vec<Record>)> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    let (mut records, mut good_bytes) = (Vec::new(), 0);
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        // The end may be torn. Nobody was told that what is in it was written.
        let Some(record) = decode(line) else { break };
        records.push(record);
        good_bytes += line.len() as u64;
    }
    file.set_len(good_bytes)?;
    file.sync_all()?;
    files::sync_folder(&path)?;
    let (commands, queue) = mpsc::unbounded_channel();
    let file = File::from_std(file);
    tokio::spawn(async move {
        if let Err(why) = run(path, file, queue).await {
            // What is in the file now is unknown. Only a new start can find out.
            eprintln!("cannot write the log: {why}");
            std::process::exit(1);
        }
    });
    Ok((commands, records))
}

async fn run(
    path: PathBuf,
    mut file: File,
    mut queue: mpsc::UnboundedReceiver<Command>,
) -> io::Result<()> {
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let (mut bytes, mut must_sync) = (Vec::new(), false);
        let (mut flushed, mut done) = (Vec::new(), Vec::new());
        for command in batch.drain(..) {
            must_sync |= !matches!(command, Command::Note(_));
            match command {
                Command::AppendEntries(records, callback) => {
                    records.iter().for_each(|record| encode(record, &mut bytes));
                    flushed.push(callback);
                }
                Command::Append(record, sender) => {
                    encode(&record, &mut bytes);
                    done.push(sender);
                }
                Command::Note(record) => encode(&record, &mut bytes),
                Command::Replace(records, sender) => {
                    // The new content includes what was to be appended before.
                    bytes.clear();
                    records.iter().for_each(|record| encode(record, &mut bytes));
                    file = replace(&path, std::mem::take(&mut bytes)).await?;
                    done.push(sender);
                }
            }
        }
        file.write_all(&bytes).await?;
        if must_sync {
            file.sync_data().await?;
        }
        flushed.into_iter().for_each(|callback| callback.log_io_completed(Ok(())));
        // Nobody listens any more while the node shuts down.
        for sender in done {
            let _ = sender.send(());
        }
    }
    Ok(())
}

async fn replace(path: &Path, content: Vec<u8>) -> io::Result<File> {
    let path = path.to_owned();
    let replaced = tokio::task::spawn_blocking(move || {
        files::replace(&path, &content)?;
        OpenOptions::new().append(true).open(&path)
    });
    Ok(File::from_std(replaced.await??))
}

fn encode(record: &Record, bytes: &mut Vec<u8>) {
    let text = serde_json::to_string(record).expect("a record has a form in JSON");
    bytes.extend_from_slice(format!("{:08x} {text}\n", checksum(&text)).as_bytes());
}

/// Returns the record of a line, if the line is complete.
fn decode(line: &[u8]) -> Option<Record> {
    let (sum, text) = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.split_once(' ')?;
    let is_intact = u32::from_str_radix(sum, 16) == Ok(checksum(text));
    is_intact.then(|| serde_json::from_str(text).ok())?
}

/// FNV-1a: enough to recognize a line that a crash has torn.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
