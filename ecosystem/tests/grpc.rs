//! tonic: unary calls, streams in either and both directions, deadlines, cancellation.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use ecosystem::{payload, same_bytes, server_pem};
use futures_util::{Stream, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status, Streaming};

include!(concat!(env!("OUT_DIR"), "/ecosystem.Echo.rs"));
use echo_client::EchoClient;
use echo_server::{Echo, EchoServer};

ecosystem::on_each_runtime!(
    two_hundred_calls_at_once_on_one_connection,
    a_server_streams_many_answers,
    a_client_streams_many_requests,
    both_sides_stream_in_turn,
    fifty_chats_at_once_on_one_connection,
    a_large_message_arrives_whole,
    calls_go_over_tls,
    a_deadline_ends_a_call,
    a_dropped_stream_ends_the_senders_work,
    a_shutdown_lets_a_chat_end,
);

/// A text with its number in the stream.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Line {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(bytes = "vec", tag = "2")]
    text: Vec<u8>,
}

fn line(number: u64, text: &str) -> Line {
    Line { number, text: text.as_bytes().to_vec() }
}

async fn two_hundred_calls_at_once_on_one_connection() {
    let client = connect(serve().await).await;
    let mut calls = JoinSet::new();
    for number in 0..200 {
        let mut client = client.clone();
        calls.spawn(async move {
            let sent = line(number, "hello");
            assert_eq!(client.once(sent.clone()).await.unwrap().into_inner(), sent);
        });
    }
    assert_eq!(calls.join_all().await.len(), 200);
}

async fn a_server_streams_many_answers() {
    let mut client = connect(serve().await).await;
    let answers = client.many(line(1000, "again")).await.unwrap().into_inner();
    let numbers: Vec<u64> = answers.map(|answer| answer.unwrap().number).collect().await;
    assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
}

async fn a_client_streams_many_requests() {
    let mut client = connect(serve().await).await;
    let requests = futures_util::stream::iter((1..=1000).map(|number| line(number, "x")));
    let sum = client.gather(requests).await.unwrap().into_inner();
    assert_eq!((sum.number, sum.text.len()), (500_500, 1000));
}

async fn both_sides_stream_in_turn() {
    chat(connect(serve().await).await, 100).await;
}

async fn fifty_chats_at_once_on_one_connection() {
    let client = connect(serve().await).await;
    let chats: JoinSet<()> = (0..50).map(|_| chat(client.clone(), 20)).collect();
    assert_eq!(chats.join_all().await.len(), 50);
}

/// Sends each line only after the answer to the one before.
async fn chat(mut client: EchoClient<Channel>, rounds: u64) {
    let (say, said) = mpsc::channel(1);
    say.send(line(0, "ping")).await.unwrap();
    let mut answers = client.chat(ReceiverStream::new(said)).await.unwrap().into_inner();
    for round in 0..rounds {
        assert_eq!(answers.message().await.unwrap(), Some(line(round, "ping")));
        say.send(line(round + 1, "ping")).await.unwrap();
    }
    assert_eq!(answers.message().await.unwrap(), Some(line(rounds, "ping")));
    drop(say);
    assert_eq!(answers.message().await.unwrap(), None);
}

async fn a_large_message_arrives_whole() {
    let client = connect(serve().await).await;
    let mut client = client.max_decoding_message_size(8 << 20);
    let sent = payload(3 << 20);
    let answer = client.once(Line { number: 1, text: sent.to_vec() }).await.unwrap();
    same_bytes(&answer.into_inner().text, &sent);
}

async fn calls_go_over_tls() {
    let (certificate, key) = server_pem();
    let identity = Identity::from_pem(&certificate, key);
    let server = Server::builder().tls_config(ServerTlsConfig::new().identity(identity)).unwrap();
    let address = serve_with(server).await;
    let trusted = Certificate::from_pem(certificate);
    let tls = ClientTlsConfig::new().ca_certificate(trusted).domain_name("localhost");
    let channel = Channel::from_shared(format!("https://{address}")).unwrap();
    let channel = channel.tls_config(tls).unwrap().connect().await.unwrap();
    chat(EchoClient::new(channel), 10).await;
}

async fn a_deadline_ends_a_call() {
    let mut client = connect(serve().await).await;
    let mut request = Request::new(line(0, "never"));
    request.set_timeout(Duration::from_millis(50));
    let status = client.once(request).await.unwrap_err();
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
}

async fn a_dropped_stream_ends_the_senders_work() {
    let (ended, mut is_ended) = mpsc::unbounded_channel();
    let router = Server::builder().add_service(EchoServer::new(Service { ended: Some(ended) }));
    let (listener, address) = listen().await;
    tokio::spawn(router.serve_with_incoming(listener));
    let mut client = connect(address).await;
    let mut answers = client.many(line(u64::MAX, "endless")).await.unwrap().into_inner();
    for number in 0..10 {
        assert_eq!(answers.message().await.unwrap().unwrap().number, number);
    }
    drop(answers);
    is_ended.recv().await.expect("the stream's task ended");
}

async fn a_shutdown_lets_a_chat_end() {
    let (shut_down, shutdown) = oneshot::channel::<()>();
    let (listener, address) = listen().await;
    let router = Server::builder().add_service(EchoServer::new(Service { ended: None }));
    let server = router.serve_with_incoming_shutdown(listener, async { shutdown.await.unwrap() });
    let server = tokio::spawn(server);

    let mut client = connect(address).await;
    let (say, said) = mpsc::channel(1);
    let mut answers = client.chat(ReceiverStream::new(said)).await.unwrap().into_inner();
    say.send(line(1, "before")).await.unwrap();
    assert_eq!(answers.message().await.unwrap(), Some(line(1, "before")));
    shut_down.send(()).unwrap();
    say.send(line(2, "after")).await.unwrap();
    assert_eq!(answers.message().await.unwrap(), Some(line(2, "after")));
    assert!(!server.is_finished());
    drop(say);
    assert_eq!(answers.message().await.unwrap(), None);
    server.await.unwrap().unwrap();
}

#[derive(Clone)]
struct Service {
    /// Notified when the task behind a stream of answers has ended.
    ended: Option<mpsc::UnboundedSender<()>>,
}

type Lines = Pin<Box<dyn Stream<Item = Result<Line, Status>> + Send>>;

#[tonic::async_trait]
impl Echo for Service {
    async fn once(&self, request: Request<Line>) -> Result<Response<Line>, Status> {
        if request.get_ref().text == b"never" {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(request.into_inner()))
    }

    type ManyStream = ReceiverStream<Result<Line, Status>>;

    async fn many(&self, request: Request<Line>) -> Result<Response<Self::ManyStream>, Status> {
        let Line { number: count, text } = request.into_inner();
        let (send, lines) = mpsc::channel(4);
        let ended = self.ended.clone();
        tokio::spawn(async move {
            for number in 0..count {
                if send.send(Ok(Line { number, text: text.clone() })).await.is_err() {
                    break;
                }
            }
            ended.inspect(|ended| ended.send(()).unwrap());
        });
        Ok(Response::new(ReceiverStream::new(lines)))
    }

    async fn gather(&self, request: Request<Streaming<Line>>) -> Result<Response<Line>, Status> {
        let mut lines = request.into_inner();
        let mut sum = line(0, "");
        while let Some(line) = lines.message().await? {
            sum.number += line.number;
            sum.text.extend(line.text);
        }
        Ok(Response::new(sum))
    }

    type ChatStream = Lines;

    async fn chat(&self, request: Request<Streaming<Line>>) -> Result<Response<Lines>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

async fn serve() -> SocketAddr {
    serve_with(Server::builder()).await
}

async fn serve_with(mut server: Server) -> SocketAddr {
    let (listener, address) = listen().await;
    let service = EchoServer::new(Service { ended: None }).max_decoding_message_size(8 << 20);
    tokio::spawn(server.add_service(service).serve_with_incoming(listener));
    address
}

async fn listen() -> (TcpListenerStream, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (TcpListenerStream::new(listener), address)
}

async fn connect(address: SocketAddr) -> EchoClient<Channel> {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap();
    EchoClient::new(channel.connect().await.unwrap())
}
