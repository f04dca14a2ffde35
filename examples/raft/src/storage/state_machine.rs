//! The map, in memory, and its snapshots, on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::storage::{RaftSnapshotBuilder, RaftStateMachine};
use openraft::{AnyError, BasicNode, EntryPayload, OptionalSend, StorageIOError};
use serde::{Deserialize, Serialize};

use super::files;
use crate::types::{
    Entry, LogId, NodeId, Snapshot, SnapshotMeta, StorageError, StoredMembership, TypeConfig,
};

/// The map. Clones share it.
#[derive(Clone)]
pub struct StateMachine {
    state: Arc<Mutex<MapState>>,
    snapshots: Arc<Snapshots>,
}

/// The map as of a change. A snapshot is this as JSON.
#[derive(Clone, Default, Deserialize, Serialize)]
struct MapState {
    applied: Option<LogId>,
    membership: StoredMembership,
    map: BTreeMap<String, String>,
}

/// The file with the newest snapshot.
struct Snapshots {
    path: PathBuf,
    /// Held while the file is written, by what builds a snapshot or installs one.
    newest: Mutex<Option<LogId>>,
}

impl Snapshots {
    /// Writes a snapshot, unless the file has a newer one.
    fn save(&self, state: &MapState) -> io::Result<()> {
        let mut newest = self.newest.lock().expect("no panic while a snapshot is written");
        if *newest < state.applied {
            files::replace(&self.path, &serde_json::to_vec(state)?)?;
            *newest = state.applied;
        }
        Ok(())
    }

    fn load(&self) -> io::Result<Option<MapState>> {
        match fs::read(&self.path) {
            Ok(content) => Ok(Some(serde_json::from_slice(&content)?)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }
}

impl StateMachine {
    pub fn recover(folder: &Path) -> io::Result<StateMachine> {
        let snapshots = Snapshots { path: folder.join("snapshot"), newest: Mutex::new(None) };
        let state = snapshots.load()?.unwrap_or_default();
        let snapshots = Snapshots { newest: Mutex::new(state.applied), ..snapshots };
        Ok(StateMachine { state: Arc::new(Mutex::new(state)), snapshots: Arc::new(snapshots) })
    }

    pub fn get(&self, key: &str) -> Option<String> {
        self.state().map.get(key).cloned()
    }

    /// Returns a line `KEY VALUE` for each key.
    pub fn lines(&self) -> String {
        self.state().map.iter().map(|(key, value)| format!("{key} {value}\n")).collect()
    }

    fn state(&self) -> MutexGuard<'_, MapState> {
        self.state.lock().expect("no panic while the map is locked")
    }

    /// Writes a snapshot where waiting for the disk is allowed.
    async fn save(&self, state: MapState) -> Result<(), StorageError> {
        let snapshots = self.snapshots.clone();
        let saved = tokio::task::spawn_blocking(move || snapshots.save(&state)).await;
        saved.map_err(|why| write_error(&why))?.map_err(|why| write_error(&why))
    }
}

/// Returns a snapshot for openraft.
fn snapshot(state: &MapState) -> Result<Snapshot, StorageError> {
    let content = serde_json::to_vec(state).map_err(|why| write_error(&why))?;
    Ok(Snapshot { meta: meta(state), snapshot: Box::new(Cursor::new(content)) })
}

fn meta(state: &MapState) -> SnapshotMeta {
    let snapshot_id = state.applied.map_or("empty".to_owned(), |id| id.to_string());
    let last_membership = state.membership.clone();
    SnapshotMeta { last_log_id: state.applied, last_membership, snapshot_id }
}

fn write_error(why: impl Into<AnyError>) -> StorageError {
    StorageIOError::write_snapshot(None, why).into()
}

fn read_error(why: impl Into<AnyError>) -> StorageError {
    StorageIOError::read_snapshot(None, why).into()
}

impl RaftSnapshotBuilder<TypeConfig> for StateMachine {
    async fn build_snapshot(&mut self) -> Result<Snapshot, StorageError> {
        let state = self.state().clone();
        let built = snapshot(&state)?;
        self.save(state).await?;
        Ok(built)
    }
}

impl RaftStateMachine<TypeConfig> for StateMachine {
    type SnapshotBuilder = StateMachine;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        let state = self.state();
        Ok((state.applied, state.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<()>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut state = self.state();
        let apply = |entry: Entry| {
            state.applied = Some(entry.log_id);
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(change) => drop(state.map.insert(change.key, change.value)),
                EntryPayload::Membership(membership) => {
                    state.membership = StoredMembership::new(Some(entry.log_id), membership);
                }
            }
        };
        Ok(entries.into_iter().map(apply).collect())
    }

    async fn get_snapshot_builder(&mut self) -> StateMachine {
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        _meta: &openraft::SnapshotMeta<NodeId, BasicNode>,
        received: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let state: MapState =
            serde_json::from_slice(received.get_ref()).map_err(|why| read_error(&why))?;
        // First on disk: the log up to here may be purged as soon as this returns.
        self.save(state.clone()).await?;
        *self.state() = state;
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, StorageError> {
        let snapshots = self.snapshots.clone();
        let loaded = tokio::task::spawn_blocking(move || snapshots.load()).await;
        let state = loaded.map_err(|why| read_error(&why))?.map_err(|why| read_error(&why))?;
        state.as_ref().map(snapshot).transpose()
    }
}
