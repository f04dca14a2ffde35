//! The service of the HTTP cases, which hyper runs over every contender's sockets.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;

pub const GREETING: &str = "Hello, World!";

/// Answers on one connection until its other side is done.
pub async fn serve_connection(io: impl Read + Write + Unpin) {
    // A client that resets its connection is not worth a word.
    let _ = http1::Builder::new().serve_connection(io, service_fn(greet)).await;
}

async fn greet(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(GREETING.as_bytes()))))
}
