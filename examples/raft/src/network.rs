//! How a node calls the others: JSON over HTTP, by reqwest.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use openraft::BasicNode;
use openraft::error::{
    Infallible, InstallSnapshotError, NetworkError, RaftError, RemoteError, Unreachable,
};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::types::{NodeId, RpcError, TypeConfig};

/// Makes connections to other nodes, which share a pool.
pub struct Network {
    client: reqwest::Client,
    isolated: Arc<AtomicBool>,
}

impl Network {
    pub fn new(isolated: Arc<AtomicBool>) -> reqwest::Result<Network> {
        // No proxy of the environment stands between the nodes.
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(Network { client, isolated })
    }
}

impl RaftNetworkFactory<TypeConfig> for Network {
    type Network = Connection;

    async fn new_client(&mut self, target: NodeId, node: &BasicNode) -> Connection {
        let (client, isolated) = (self.client.clone(), self.isolated.clone());
        Connection { target, address: node.addr.clone(), client, isolated }
    }
}

/// A way to call one other node.
pub struct Connection {
    target: NodeId,
    address: String,
    client: reqwest::Client,
    isolated: Arc<AtomicBool>,
}

impl Connection {
    /// Calls a route of the other node, which answers with a `Result`.
    async fn call<Q: Serialize, A: DeserializeOwned, E: Error + DeserializeOwned + 'static>(
        &self,
        route: &str,
        request: &Q,
        option: RPCOption,
    ) -> Result<A, RpcError<E>> {
        if self.isolated.load(Relaxed) {
            return Err(Unreachable::new(&std::io::Error::other("this node is isolated")).into());
        }
        let body = serde_json::to_vec(request).map_err(|why| NetworkError::new(&why))?;
        let sent = self
            .client
            .post(format!("http://{}/raft/{route}", self.address))
            .timeout(option.hard_ttl())
            .body(body)
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        // openraft backs off from a node that is unreachable, and repeats other calls at once.
        let response = sent.map_err(|why| Unreachable::new(&why))?;
        let body = response.bytes().await.map_err(|why| NetworkError::new(&why))?;
        let answer: Result<A, RaftError<NodeId, E>> =
            serde_json::from_slice(&body).map_err(|why| NetworkError::new(&why))?;
        answer.map_err(|why| RemoteError::new(self.target, why).into())
    }
}

impl RaftNetwork<TypeConfig> for Connection {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, RpcError<Infallible>> {
        self.call("append", &request, option).await
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<InstallSnapshotResponse<NodeId>, RpcError<InstallSnapshotError>> {
        self.call("snapshot", &request, option).await
    }

    async fn vote(
        &mut self,
        request: VoteRequest<NodeId>,
        option: RPCOption,
    ) -> Result<VoteResponse<NodeId>, RpcError<Infallible>> {
        self.call("vote", &request, option).await
    }
}
