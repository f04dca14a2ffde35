//! An HTTP service: notes that are kept in memory. It uses axum, which is written for Tokio.
//!
//! ```text
//! cargo run -p examples --bin http
//! curl -X PUT --data 'buy tea' http://127.0.0.1:PORT/notes/today
//! curl http://127.0.0.1:PORT/notes/today
//! curl http://127.0.0.1:PORT/slow               # 503 after a second
//! ```
//!
//! Shows: state that handlers share, a limit on the time and the size of a request, and that a
//! short critical section wants the lock of `std` and not an async one.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

const REQUEST_LIMIT: Duration = Duration::from_secs(1);
const BODY_LIMIT_BYTES: usize = 64 * 1024;

/// The notes by name. No lock is held across an `.await`, so a lock of `std` is right: it is
/// faster than `tokio::sync::RwLock`, and a task that waits for it waits for nanoseconds.
type Notes = Arc<RwLock<BTreeMap<String, String>>>;

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let service = Router::new()
        .route("/", get(list))
        .route("/notes/{name}", get(read).put(write).delete(remove))
        .route("/slow", get(slow))
        .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
        // The outermost layer: it sees a request first and its response last.
        .layer(middleware::from_fn(limit_time))
        .with_state(Notes::default());
    // Each connection becomes a task.
    axum::serve(listener, service).await
}

/// Returns the names of all notes, one per line.
async fn list(State(notes): State<Notes>) -> String {
    let notes = notes.read().unwrap();
    notes.keys().map(|name| format!("{name}\n")).collect()
}

async fn read(State(notes): State<Notes>, Path(name): Path<String>) -> Response {
    match notes.read().unwrap().get(&name) {
        Some(text) => text.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn write(State(notes): State<Notes>, Path(name): Path<String>, text: String) -> StatusCode {
    match notes.write().unwrap().insert(name, text) {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::CREATED,
    }
}

async fn remove(State(notes): State<Notes>, Path(name): Path<String>) -> StatusCode {
    match notes.write().unwrap().remove(&name) {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::NOT_FOUND,
    }
}

/// Takes longer than a request may.
async fn slow() -> &'static str {
    sleep(10 * REQUEST_LIMIT).await;
    "done"
}

/// Answers for a handler that takes too long. Dropping its future is all it takes to stop it: it
/// ends at the `.await` where it is, and whatever it owns is dropped.
async fn limit_time(request: Request, next: Next) -> Response {
    match timeout(REQUEST_LIMIT, next.run(request)).await {
        Ok(response) => response,
        Err(_elapsed) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
