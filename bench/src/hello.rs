//! The HTTP service of the HTTP cases. hyper serves it on each contender's sockets.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;

pub const GREETING: &str = "Hello, World!";

/// Serves a connection until the client closes it.
pub async fn serve_connection(io: impl Read + Write + Unpin) {
    // An error means that the client reset the connection, which is expected.
    let _ = http1::Builder::new().serve_connection(io, service_fn(greet)).await;
}

async fn greet(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(GREETING.as_bytes()))))
}
