//! The log, in memory for reading, and in its file before openraft relies on it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::storage::{LogFlushed, LogState, RaftLogReader, RaftLogStorage};
use openraft::{OptionalSend, StorageIOError};
use tokio::sync::{mpsc, oneshot};

use super::log_file::{self, Command, Record};
use crate::types::{Entry, LogId, StorageError, TypeConfig, Vote};

/// The log. Clones share it.
#[derive(Clone)]
pub struct LogStore {
    content: Arc<Mutex<Content>>,
    file: mpsc::UnboundedSender<Command>,
}

/// What the records of the file add up to.
#[derive(Default)]
struct Content {
    vote: Option<Vote>,
    committed: Option<LogId>,
    purged: Option<LogId>,
    entries: BTreeMap<u64, Entry>,
}

impl Content {
    fn apply(&mut self, record: Record) {
        match record {
            Record::Vote(vote) => self.vote = Some(vote),
            Record::Committed(committed) => self.committed = committed,
            Record::Entry(entry) => drop(self.entries.insert(entry.log_id.index, entry)),
            Record::Truncated(from) => drop(self.entries.split_off(&from)),
            Record::Purged(up_to) => {
                self.entries = self.entries.split_off(&(up_to.index + 1));
                self.purged = Some(up_to);
            }
        }
    }

    /// Returns the fewest records that add up to this content.
    fn records(&self) -> Vec<Record> {
        let head = [self.purged.map(Record::Purged), self.vote.map(Record::Vote)];
        let committed = Record::Committed(self.committed);
        let entries = self.entries.values().cloned().map(Record::Entry);
        head.into_iter().flatten().chain([committed]).chain(entries).collect()
    }
}

impl LogStore {
    pub fn recover(folder: &Path) -> io::Result<LogStore> {
        let (file, records) = log_file::open(folder.join("log"))?;
        let mut content = Content::default();
        records.into_iter().for_each(|record| content.apply(record));
        Ok(LogStore { content: Arc::new(Mutex::new(content)), file })
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().expect("no panic while the log is locked")
    }

    fn send(&self, command: Command) -> Result<(), StorageError> {
        self.file.send(command).map_err(|_| broken())
    }

    /// Adds a record, and returns when it is on disk.
    async fn add(&self, record: Record) -> Result<(), StorageError> {
        self.content().apply(record.clone());
        let (sender, done) = oneshot::channel();
        self.send(Command::Append(record, sender))?;
        done.await.map_err(|_| broken())
    }
}

fn broken() -> StorageError {
    StorageIOError::write_logs(&io::Error::other("the task of the log's file has ended")).into()
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, StorageError> {
        Ok(self.content().entries.range(range).map(|(_, entry)| entry.clone()).collect())
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = LogStore;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, StorageError> {
        let content = self.content();
        let last = content.entries.values().next_back().map(|entry| entry.log_id);
        let last_purged_log_id = content.purged;
        Ok(LogState { last_purged_log_id, last_log_id: last.or(last_purged_log_id) })
    }

    async fn get_log_reader(&mut self) -> LogStore {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        self.add(Record::Vote(*vote)).await
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(self.content().vote)
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        // If it gets lost, the leader tells it again.
        let record = Record::Committed(committed);
        self.content().apply(record.clone());
        self.send(Command::Note(record))
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(self.content().committed)
    }

    /// Returns before the entries are on disk, so that more of them can share a sync.
    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<TypeConfig>,
    ) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let records: Vec<Record> = entries.into_iter().map(Record::Entry).collect();
        records.iter().cloned().for_each(|record| self.content().apply(record));
        self.send(Command::AppendEntries(records, callback))
    }

    async fn truncate(&mut self, from: LogId) -> Result<(), StorageError> {
        self.add(Record::Truncated(from.index)).await
    }

    /// Rewrites the file, which is short once a snapshot has most of the log.
    async fn purge(&mut self, up_to: LogId) -> Result<(), StorageError> {
        let records = {
            let mut content = self.content();
            content.apply(Record::Purged(up_to));
            content.records()
        };
        let (sender, done) = oneshot::channel();
        self.send(Command::Replace(records, sender))?;
        done.await.map_err(|_| broken())
    }
}
