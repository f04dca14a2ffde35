//! A map that three processes keep in step with the Raft protocol, by openraft. What a client was told
//! to be written survives the loss of any one process, and the crash of all.
//!
//! ```text
//! cargo run -p raft -- 1 /tmp/raft/1 127.0.0.1:7001 127.0.0.1:7002 127.0.0.1:7003
//! cargo run -p raft -- 2 /tmp/raft/2 127.0.0.1:7001 127.0.0.1:7002 127.0.0.1:7003
//! cargo run -p raft -- 3 /tmp/raft/3 127.0.0.1:7001 127.0.0.1:7002 127.0.0.1:7003
//!
//! curl -X PUT --data tea http://127.0.0.1:7001/keys/drink     # 421 names the leader, if not this one
//! curl http://127.0.0.1:7001/keys/drink
//! curl http://127.0.0.1:7001/status
//! curl -X PUT --data yes http://127.0.0.1:7001/isolated       # cuts the node off from the others
//! ```
//!
//! ```text
//!             ┌ http.rs ──▶ openraft ──▶ network.rs ──▶ the other nodes' http.rs
//! client ───▶ │                │
//!             └                ├──▶ storage/log_store.rs      what is not yet in a snapshot, synced
//!                              └──▶ storage/state_machine.rs  the map, and its snapshots
//! ```

#![expect(clippy::result_large_err, reason = "openraft's errors are large")]

mod http;
mod network;
mod storage;
mod types;

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use openraft::{BasicNode, Config, SnapshotPolicy};
use tokio::net::TcpListener;

use http::Node;
use network::Network;
use storage::{LogStore, StateMachine};
use types::{NodeId, Raft};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [id, folder, addresses @ ..] = &arguments[..] else {
        return Err("usage: raft ID FOLDER ADDRESS_OF_NODE_1 ADDRESS_OF_NODE_2 …".into());
    };
    let id: NodeId = id.parse()?;
    let folder = PathBuf::from(folder);
    let nodes: BTreeMap<NodeId, BasicNode> =
        (1..).zip(addresses.iter().map(BasicNode::new)).collect();
    let address = &nodes.get(&id).ok_or("there is no address for this ID")?.addr;

    // Nothing else runs yet, so blocking calls are fine here.
    std::fs::create_dir_all(&folder)?;
    let log_store = LogStore::recover(&folder)?;
    let state_machine = StateMachine::recover(&folder)?;
    let isolated = Arc::new(AtomicBool::new(false));
    let network = Network::new(isolated.clone())?;
    let config = Arc::new(config().validate()?);
    let raft = Raft::new(id, config, network, log_store, state_machine.clone()).await?;

    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    if !raft.is_initialized().await? {
        // Every node begins with the same members, so it does not matter which one is first.
        raft.initialize(nodes).await?;
    }
    axum::serve(listener, http::routes(Node::new(raft, state_machine, isolated))).await?;
    Ok(())
}

fn config() -> Config {
    Config {
        heartbeat_interval: 100,
        election_timeout_min: 500,
        election_timeout_max: 1000,
        install_snapshot_timeout: 2000,
        // Small, so that snapshots are part of an ordinary day.
        snapshot_policy: SnapshotPolicy::LogsSinceLast(200),
        max_in_snapshot_log_to_keep: 50,
        replication_lag_threshold: 100,
        snapshot_max_chunk_size: 64 * 1024,
        ..Config::default()
    }
}
