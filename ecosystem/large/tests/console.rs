//! console-subscriber: its server runs on Wakeful, and what it is told reaches a client.
//!
//! Wakeful itself tells it nothing: it has no spans for its tasks. So a span stands for a task here.

use std::time::Duration;

use console_api::instrument::instrument_client::InstrumentClient;
use console_api::instrument::{InstrumentRequest, Update};
use console_subscriber::ConsoleLayer;
use ecosystem_large::unused_port;
use tokio::time::sleep;
use tracing::Dispatch;
use tracing::instrument::{Instrument, WithSubscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

ecosystem_large::on_each_runtime!(a_task_that_the_layer_hears_of_reaches_the_client);

async fn a_task_that_the_layer_hears_of_reaches_the_client() {
    let port = unused_port();
    let (layer, server) = ConsoleLayer::builder()
        .server_addr(([127, 0, 0, 1], port))
        .publish_interval(Duration::from_millis(20))
        .build();
    let dispatch = Dispatch::new(Registry::default().with(layer));
    let serving = tokio::spawn(async move { server.serve().await.unwrap() });
    let address = format!("http://127.0.0.1:{port}");
    let mut client = loop {
        match InstrumentClient::connect(address.clone()).await {
            Ok(client) => break client,
            Err(_not_yet_listening) => sleep(Duration::from_millis(5)).await,
        }
    };
    let mut updates = client.watch_updates(InstrumentRequest {}).await.unwrap().into_inner();

    let work = async {
        let span = tracing::trace_span!(
            target: "tokio::task", "runtime.spawn", kind = "task", task.name = "by hand"
        );
        sleep(Duration::from_millis(50)).instrument(span).await;
    };
    // The server runs for as long as the layer is there.
    tokio::spawn(work.with_subscriber(dispatch.clone()));

    let (mut was_seen, mut has_ended) = (false, false);
    while !(was_seen && has_ended) {
        let update = updates.message().await.unwrap().expect("the server ended the stream");
        was_seen |= mentions(&update, "by hand");
        has_ended |= ended_tasks(&update) > 0;
    }
    drop(dispatch);
    serving.abort();
}

/// Whether a new task of the update has a field with this text.
fn mentions(update: &Update, text: &str) -> bool {
    let tasks = update.task_update.iter().flat_map(|tasks| &tasks.new_tasks);
    tasks.flat_map(|task| &task.fields).any(|field| format!("{field:?}").contains(text))
}

/// Returns how many tasks of the update have ended.
fn ended_tasks(update: &Update) -> usize {
    let stats = update.task_update.iter().flat_map(|tasks| tasks.stats_update.values());
    stats.filter(|stats| stats.dropped_at.is_some()).count()
}
