//! What a node answers: to clients, and to the other nodes below `/raft`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use openraft::BasicNode;
use openraft::error::ForwardToLeader;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::storage::StateMachine;
use crate::types::{NodeId, Raft, Set};

/// How long a client waits for a majority.
const QUORUM_LIMIT: Duration = Duration::from_secs(2);

/// More than a chunk of a snapshot takes as JSON.
const BODY_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What the handlers share.
pub struct Node {
    raft: Raft,
    state_machine: StateMachine,
    /// Set to cut the node off: it neither calls other nodes nor answers them.
    isolated: Arc<AtomicBool>,
}

type Shared = State<Arc<Node>>;

/// What another node is answered if its request is not for openraft.
type Failure = (StatusCode, String);

impl Node {
    pub fn new(raft: Raft, state_machine: StateMachine, isolated: Arc<AtomicBool>) -> Arc<Node> {
        Arc::new(Node { raft, state_machine, isolated })
    }
}

pub fn routes(node: Arc<Node>) -> Router {
    Router::new()
        .route("/keys/{key}", get(read).put(write))
        .route("/local", get(local))
        .route("/status", get(status))
        .route("/isolated", put(isolate))
        .route("/raft/append", post(append))
        .route("/raft/vote", post(vote))
        .route("/raft/snapshot", post(snapshot))
        .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
        .with_state(node)
}

/// Writes a key. Answers 200 when a majority has it on disk, and 503 if that is not known in time:
/// the key may be written later.
async fn write(State(node): Shared, Path(key): Path<String>, value: String) -> Response {
    let change = Set { key, value };
    // The write goes on even if the client stops waiting.
    match timeout(QUORUM_LIMIT, node.raft.client_write(change)).await {
        Ok(Ok(written)) => format!("{}", written.log_id.index).into_response(),
        Ok(Err(why)) => refused(why.forward_to_leader(), &why),
        Err(elapsed) => unavailable(elapsed),
    }
}

/// Reads a key on the leader, after a majority has confirmed that it still is the leader.
async fn read(State(node): Shared, Path(key): Path<String>) -> Response {
    match timeout(QUORUM_LIMIT, node.raft.ensure_linearizable()).await {
        Ok(Ok(_)) => match node.state_machine.get(&key) {
            Some(value) => value.into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        Ok(Err(why)) => refused(why.forward_to_leader(), &why),
        Err(elapsed) => unavailable(elapsed),
    }
}

/// Returns what this node has, which may be old: a line `KEY VALUE` for each key.
async fn local(State(node): Shared) -> String {
    node.state_machine.lines()
}

/// Returns lines that say what this node knows of the cluster.
async fn status(State(node): Shared) -> String {
    let metrics = node.raft.metrics().borrow().clone();
    let index = |id: Option<openraft::LogId<NodeId>>| id.map_or(0, |id| id.index);
    format!(
        "state {:?}\nleader {}\nterm {}\napplied {}\nsnapshot {}\npurged {}\n",
        metrics.state,
        metrics.current_leader.unwrap_or(0),
        metrics.current_term,
        index(metrics.last_applied),
        index(metrics.snapshot),
        index(metrics.purged),
    )
}

async fn isolate(State(node): Shared, text: String) {
    node.isolated.store(text == "yes", Relaxed);
}

async fn append(State(node): Shared, body: Bytes) -> Result<Vec<u8>, Failure> {
    answer(&node.raft.append_entries(node.request(&body)?).await)
}

async fn vote(State(node): Shared, body: Bytes) -> Result<Vec<u8>, Failure> {
    answer(&node.raft.vote(node.request(&body)?).await)
}

async fn snapshot(State(node): Shared, body: Bytes) -> Result<Vec<u8>, Failure> {
    answer(&node.raft.install_snapshot(node.request(&body)?).await)
}

impl Node {
    /// Parses what another node asks, unless this node is cut off.
    fn request<Q: DeserializeOwned>(&self, body: &[u8]) -> Result<Q, Failure> {
        if self.isolated.load(Relaxed) {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "this node is isolated".to_owned()));
        }
        serde_json::from_slice(body).map_err(|why| (StatusCode::BAD_REQUEST, why.to_string()))
    }
}

/// Encodes the outcome, whether or not it is an error: the other node decodes both.
fn answer<A: Serialize, E: Serialize>(outcome: &Result<A, E>) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(outcome).map_err(|why| (StatusCode::INTERNAL_SERVER_ERROR, why.to_string()))
}

/// Names the leader, if another node is known to be it.
fn refused(leader: Option<&ForwardToLeader<NodeId, BasicNode>>, why: &dyn ToString) -> Response {
    match leader.and_then(|leader| leader.leader_node.as_ref()) {
        Some(leader) => (StatusCode::MISDIRECTED_REQUEST, leader.addr.clone()).into_response(),
        None => unavailable(why.to_string()),
    }
}

fn unavailable(why: impl ToString) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why.to_string()).into_response()
}
