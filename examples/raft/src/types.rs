//! The types that openraft is instantiated with.

use std::io::Cursor;

use openraft::error::RaftError;
use openraft::{BasicNode, declare_raft_types};
use serde::{Deserialize, Serialize};

pub type NodeId = u64;
pub type Raft = openraft::Raft<TypeConfig>;
pub type LogId = openraft::LogId<NodeId>;
pub type Vote = openraft::Vote<NodeId>;
pub type Entry = openraft::Entry<TypeConfig>;
pub type StoredMembership = openraft::StoredMembership<NodeId, BasicNode>;
pub type SnapshotMeta = openraft::SnapshotMeta<NodeId, BasicNode>;
pub type Snapshot = openraft::Snapshot<TypeConfig>;
pub type StorageError = openraft::StorageError<NodeId>;
pub type RpcError<E> = openraft::error::RPCError<NodeId, BasicNode, RaftError<NodeId, E>>;

/// The only change that a client can make.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Set {
    pub key: String,
    pub value: String,
}

declare_raft_types!(
    pub TypeConfig:
        D = Set,
        R = (),
        NodeId = NodeId,
        Node = BasicNode,
        Entry = Entry,
        SnapshotData = Cursor<Vec<u8>>,
);
