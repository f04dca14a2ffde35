//! axum as a server and reqwest as a client: HTTP/1 and HTTP/2, with and without TLS.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::routing::{get, post};
use axum::serve::Listener;
use bytes::Bytes;
use ecosystem::{client_tls, payload, same_bytes, server_tls};
use futures_util::StreamExt;
use reqwest::{Client, ClientBuilder, Version};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;

ecosystem::on_each_runtime!(
    two_hundred_requests_at_once_over_http1,
    two_hundred_requests_at_once_over_http2,
    two_hundred_requests_at_once_over_tls_and_http1,
    two_hundred_requests_at_once_over_tls_and_http2,
    sixteen_mebibytes_come_back_over_http1,
    sixteen_mebibytes_come_back_over_http2,
    sixteen_mebibytes_come_back_over_tls,
    a_response_may_be_endless_and_left_half_read,
    a_request_may_be_a_stream_that_goes_on_as_the_answer_comes,
    a_timeout_of_the_client_drops_the_handler,
    an_aborted_request_drops_the_handler,
    a_graceful_shutdown_waits_for_requests_under_way,
    blocking_handlers_run_beside_others,
);

async fn two_hundred_requests_at_once_over_http1() {
    let server = serve_plain(echo()).await;
    two_hundred_requests_at_once(http1(), format!("http://{server}/echo"), Version::HTTP_11).await;
}

async fn two_hundred_requests_at_once_over_http2() {
    let server = serve_plain(echo()).await;
    two_hundred_requests_at_once(http2(), format!("http://{server}/echo"), Version::HTTP_2).await;
}

async fn two_hundred_requests_at_once_over_tls_and_http1() {
    let server = serve_tls(echo()).await;
    let client = tls(&["http/1.1"]);
    two_hundred_requests_at_once(client, format!("https://{server}/echo"), Version::HTTP_11).await;
}

async fn two_hundred_requests_at_once_over_tls_and_http2() {
    let server = serve_tls(echo()).await;
    let client = tls(&["h2"]);
    two_hundred_requests_at_once(client, format!("https://{server}/echo"), Version::HTTP_2).await;
}

/// Two rounds, so that the second one takes its connections from the pool.
async fn two_hundred_requests_at_once(client: Client, url: String, version: Version) {
    for round in 0..2 {
        let mut requests = JoinSet::new();
        for number in 0..200 {
            let (client, url) = (client.clone(), url.clone());
            requests.spawn(async move {
                let body = format!("{round}/{number}");
                let response = client.post(url).body(body.clone()).send().await.unwrap();
                assert_eq!(response.version(), version);
                assert_eq!(response.text().await.unwrap(), body);
            });
        }
        assert_eq!(requests.join_all().await.len(), 200);
    }
}

async fn sixteen_mebibytes_come_back_over_http1() {
    let server = serve_plain(echo()).await;
    sixteen_mebibytes_come_back(http1(), format!("http://{server}/echo")).await;
}

async fn sixteen_mebibytes_come_back_over_http2() {
    let server = serve_plain(echo()).await;
    sixteen_mebibytes_come_back(http2(), format!("http://{server}/echo")).await;
}

async fn sixteen_mebibytes_come_back_over_tls() {
    let server = serve_tls(echo()).await;
    sixteen_mebibytes_come_back(tls(&["h2", "http/1.1"]), format!("https://{server}/echo")).await;
}

/// The server sends back while it still receives. Neither side can buffer all of it.
async fn sixteen_mebibytes_come_back(client: Client, url: String) {
    let sent = payload(16 << 20);
    let response = client.post(url).body(sent.clone()).send().await.unwrap();
    let came = response.bytes().await.unwrap();
    same_bytes(&came, &sent);
}

async fn a_response_may_be_endless_and_left_half_read() {
    let endless = |gone: mpsc::UnboundedSender<()>| async move {
        let (chunks, body) = mpsc::channel(1);
        tokio::spawn(async move {
            while chunks.send(Ok::<_, std::io::Error>(payload(10_000))).await.is_ok() {}
            gone.send(()).unwrap();
        });
        Body::from_stream(ReceiverStream::new(body))
    };
    let (gone, mut is_gone) = mpsc::unbounded_channel();
    let server = serve_plain(Router::new().route("/", get(move || endless(gone.clone())))).await;
    for client in [http1(), http2()] {
        let mut response = client.get(format!("http://{server}/")).send().await.unwrap();
        let mut came = 0;
        while came < 1 << 20 {
            came += response.chunk().await.unwrap().expect("there is always more").len();
        }
        drop((response, client));
        is_gone.recv().await.expect("the server stops to send");
    }
}

async fn a_request_may_be_a_stream_that_goes_on_as_the_answer_comes() {
    let server = serve_plain(echo()).await;
    let (send, body) = mpsc::channel::<Result<_, std::io::Error>>(1);
    let body = reqwest::Body::wrap_stream(ReceiverStream::new(body));
    send.send(Ok(payload(1000))).await.unwrap();
    let request = http2().post(format!("http://{server}/echo")).body(body);
    let mut answer = request.send().await.unwrap().bytes_stream();
    for round in 1..100 {
        let mut came = 0;
        while came < round * 1000 {
            came += answer.next().await.unwrap().unwrap().len();
        }
        assert_eq!(came, round * 1000);
        send.send(Ok(payload((round + 1) * 1000))).await.unwrap();
    }
    drop(send);
    let rest =
        answer.map(|piece| piece.unwrap().len()).fold(0, |sum, length| async move { sum + length });
    assert_eq!(rest.await, 100_000);
}

async fn a_timeout_of_the_client_drops_the_handler() {
    let (router, mut dropped) = never_answers();
    let server = serve_plain(router).await;
    for client in [http1(), http2()] {
        let request = client.get(format!("http://{server}/")).timeout(Duration::from_millis(50));
        let error = request.send().await.unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
        dropped.recv().await.expect("the handler's future was dropped");
    }
}

async fn an_aborted_request_drops_the_handler() {
    let (router, mut dropped) = never_answers();
    let started = Arc::new(Notify::new());
    let router = router.layer(axum::middleware::map_request({
        let started = started.clone();
        move |request: axum::extract::Request| {
            started.notify_one();
            async move { request }
        }
    }));
    let server = serve_plain(router).await;
    for client in [http1(), http2()] {
        let request = tokio::spawn(client.get(format!("http://{server}/")).send());
        started.notified().await;
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        dropped.recv().await.expect("the handler's future was dropped");
    }
}

async fn a_graceful_shutdown_waits_for_requests_under_way() {
    let (reached, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (reached, gate) = (reached.clone(), gate.clone());
        move || async move {
            reached.notify_one();
            gate.notified().await;
            "done"
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (shut_down, shutdown) = oneshot::channel::<()>();
    let router = Router::new().route("/", get(handler));
    let server =
        axum::serve(listener, router).with_graceful_shutdown(async { shutdown.await.unwrap() });
    let server = tokio::spawn(server.into_future());

    let request = tokio::spawn(http1().get(format!("http://{address}/")).send());
    reached.notified().await;
    shut_down.send(()).unwrap();
    // The listener is dropped first. From then on, no connection is accepted.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.is_finished());
    gate.notify_one();
    assert_eq!(request.await.unwrap().unwrap().text().await.unwrap(), "done");
    server.await.unwrap().unwrap();
}

async fn blocking_handlers_run_beside_others() {
    let sum = |Path(n): Path<u64>| async move {
        tokio::task::spawn_blocking(move || (1..=n).sum::<u64>()).await.unwrap().to_string()
    };
    let server = serve_plain(echo().route("/sum/{n}", get(sum))).await;
    let client = http2();
    let mut requests = JoinSet::new();
    for n in 0..100_u64 {
        let client = client.clone();
        requests.spawn(async move {
            let url = format!("http://{server}/sum/{n}");
            let sum = client.get(url).send().await.unwrap().text().await.unwrap();
            assert_eq!(sum, (n * (n + 1) / 2).to_string());
        });
    }
    requests.join_all().await;
}

fn echo() -> Router {
    Router::new()
        .route("/echo", post(|body: Body| async { Body::from_stream(body.into_data_stream()) }))
}

/// Returns a route whose handler never ends, and a channel that reports when it is dropped.
fn never_answers() -> (Router, mpsc::UnboundedReceiver<()>) {
    struct Report(mpsc::UnboundedSender<()>);
    impl Drop for Report {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (dropped, is_dropped) = mpsc::unbounded_channel();
    let handler = move || {
        let report = Report(dropped.clone());
        async move {
            let _report = report;
            pending::<Bytes>().await
        }
    };
    (Router::new().route("/", get(handler)), is_dropped)
}

async fn serve_plain(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

async fn serve_tls(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(server_tls(&["h2", "http/1.1"])));
    let (handshaken, accepted) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            let (acceptor, handshaken) = (acceptor.clone(), handshaken.clone());
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                let _ = handshaken.send((stream, peer)).await;
            });
        }
    });
    tokio::spawn(axum::serve(TlsListener { accepted }, router).into_future());
    format!("localhost:{port}")
}

/// Accepts TLS connections. Each handshake runs in its own task.
struct TlsListener {
    accepted: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.accepted.recv().await {
            Some(connection) => connection,
            None => pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

fn http1() -> Client {
    client(&[]).http1_only().build().unwrap()
}

fn http2() -> Client {
    client(&[]).http2_prior_knowledge().build().unwrap()
}

fn tls(protocols: &[&str]) -> Client {
    client(protocols).build().unwrap()
}

/// Ignores the machine's proxy settings: all requests go to `localhost`.
fn client(protocols: &[&str]) -> ClientBuilder {
    Client::builder().no_proxy().tls_backend_preconfigured(client_tls(protocols))
}
