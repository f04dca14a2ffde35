//! The service: axum on the runtime on show.

use crate::actions::{self, Busy};
use crate::load::{CONNECTIONS_MAX, LoadSwitch};
use crate::show::Show;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, ORIGIN,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use wakeful::net::TcpListener;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

#[derive(Clone)]
struct Service {
    show: Arc<Show>,
    load: LoadSwitch,
    workers: usize,
}

/// Serves until `end` completes, then finishes the answers in progress.
pub async fn serve(
    listener: TcpListener,
    show: Arc<Show>,
    load: LoadSwitch,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let workers = wakeful::runtime::Handle::current().metrics().num_workers();
    let routes = Router::new()
        .route("/", get(|| file(HTML, include_str!("../page/index.html"))))
        .route("/style.css", get(|| file(CSS, include_str!("../page/style.css"))))
        .route("/page.js", get(|| file(JS, include_str!("../page/page.js"))))
        .route("/plot.js", get(|| file(JS, include_str!("../page/plot.js"))))
        .route("/text.js", get(|| file(JS, include_str!("../page/text.js"))))
        .route("/hello", get(async || "Hello!\n"))
        .route("/events", get(events))
        .route("/load", get(connections))
        .route("/load/{connections}", post(set_load))
        .route("/block/{workers}", post(block))
        .route("/compute", post(async |State(s): State<Service>| done(actions::compute(&s.show))))
        .route("/tasks", post(async |State(s): State<Service>| done(actions::spawn_tasks(&s.show))))
        .route("/timers", post(async |State(s): State<Service>| done(actions::arm_timers(&s.show))))
        .layer(middleware::from_fn(only_from_here))
        .with_state(Service { show, load, workers });
    axum::serve(listener, routes).with_graceful_shutdown(end).await
}

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    // Nothing is loaded from other hosts, and nothing is cached, because the next build may have
    // another page.
    let headers: [(HeaderName, &str); 3] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "default-src 'self'; img-src data:"),
    ];
    (headers, text)
}

async fn events(State(service): State<Service>) -> impl IntoResponse {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(service.show.live.events()))
}

async fn connections(State(service): State<Service>) -> String {
    service.load.connections().to_string()
}

async fn set_load(State(service): State<Service>, Path(connections): Path<usize>) -> Response {
    if connections > CONNECTIONS_MAX {
        let why = format!("at most {CONNECTIONS_MAX} connections\n");
        return (StatusCode::BAD_REQUEST, why).into_response();
    }
    service.load.set(connections);
    StatusCode::NO_CONTENT.into_response()
}

/// Blocks one or more workers: `/block/1` or `/block/all`.
async fn block(State(service): State<Service>, Path(workers): Path<String>) -> Response {
    let workers = match workers.as_str() {
        "all" => Some(service.workers),
        number => number.parse().ok().filter(|number| (1..=service.workers).contains(number)),
    };
    match workers {
        Some(workers) => done(actions::block(&service.show, workers)),
        None => (StatusCode::BAD_REQUEST, "the runtime has fewer workers\n").into_response(),
    }
}

fn done(outcome: Result<(), Busy>) -> Response {
    match outcome {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(Busy) => (
            StatusCode::TOO_MANY_REQUESTS,
            "too many of these are in progress; wait until they end\n",
        )
            .into_response(),
    }
}

/// Rejects requests that pages of other sites send through the user's browser.
async fn only_from_here(request: Request, next: Next) -> Response {
    if is_from_here(request.method(), request.headers()) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "only the page of this service may send requests\n").into_response()
    }
}

fn is_from_here(method: &Method, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    // A host name that resolves to loopback would let another site read the answers (DNS
    // rebinding).
    let Some(host) = text(HOST).filter(|host| is_loopback(host)) else { return false };
    let same = |origin: &str| origin.strip_prefix("http://") == Some(host);
    method == Method::GET || text(ORIGIN).is_none_or(same)
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
    name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        is_from_here(&method, &headers)
    }

    #[test]
    fn own_page_and_plain_clients_are_accepted() {
        assert!(asked(Method::GET, "127.0.0.1:8080", None));
        assert!(asked(Method::POST, "127.0.0.1:8080", None));
        assert!(asked(Method::POST, "127.0.0.1:8080", Some("http://127.0.0.1:8080")));
        assert!(asked(Method::POST, "localhost:8080", Some("http://localhost:8080")));
    }

    #[test]
    fn other_sites_are_rejected() {
        assert!(!asked(Method::GET, "rebound.example:8080", None));
        assert!(!asked(Method::POST, "127.0.0.1:8080", Some("http://other.example")));
        assert!(!asked(Method::POST, "127.0.0.1:8080", Some("http://127.0.0.1:9090")));
        assert!(!asked(Method::POST, "127.0.0.1:8080", Some("null")));
    }
}
