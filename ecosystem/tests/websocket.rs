//! WebSockets with tokio-tungstenite, plain and over TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use ecosystem::{client_tls, payload, same_bytes, server_tls};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async, connect_async};

ecosystem::on_each_runtime!(
    two_hundred_clients_talk_at_once,
    a_large_message_arrives_whole_over_tls,
    all_guests_of_a_room_receive_every_line,
    a_ping_is_answered_on_an_idle_connection,
    a_close_reaches_the_other_side_with_its_reason,
    a_lost_connection_is_an_error_and_not_an_end,
);

async fn two_hundred_clients_talk_at_once() {
    let server = serve(echo).await;
    let mut clients = JoinSet::new();
    for client in 0..200 {
        clients.spawn(async move {
            let (socket, _) = connect_async(format!("ws://{server}/")).await.unwrap();
            let (mut send, mut receive) = socket.split();
            let sender = tokio::spawn(async move {
                for number in 0..20 {
                    send.send(Message::text(format!("{client}: {number}"))).await.unwrap();
                }
                send
            });
            for number in 0..20 {
                let answer = receive.next().await.unwrap().unwrap();
                assert_eq!(answer, Message::text(format!("{client}: {number}")));
            }
            sender.await.unwrap().close().await.unwrap();
        });
    }
    assert_eq!(clients.join_all().await.len(), 200);
}

async fn a_large_message_arrives_whole_over_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server_tls(&[])));
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = acceptor.accept(stream).await.unwrap();
        echo(accept_async(stream).await.unwrap()).await;
    });
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(client_tls(&[])));
    let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    let (mut socket, _) = client_async("wss://localhost/", stream).await.unwrap();
    let sent = payload(4 << 20);
    socket.send(Message::binary(sent.clone())).await.unwrap();
    let came = socket.next().await.unwrap().unwrap();
    same_bytes(&came.into_data(), &sent);
}

async fn all_guests_of_a_room_receive_every_line() {
    const GUESTS: usize = 30;
    let (said, _) = broadcast::channel(GUESTS * 10);
    let server = serve({
        let said = said.clone();
        move |mut socket| {
            let (said, mut heard) = (said.clone(), said.subscribe());
            async move {
                loop {
                    tokio::select! {
                        line = heard.recv() => socket.send(line.unwrap()).await.unwrap(),
                        line = socket.next() => match line {
                            Some(Ok(line @ Message::Text(_))) => _ = said.send(line).unwrap(),
                            _ => break,
                        },
                    }
                }
            }
        }
    })
    .await;
    let mut sockets = Vec::new();
    for _ in 0..GUESTS {
        sockets.push(connect_async(format!("ws://{server}/")).await.unwrap().0);
    }
    // All guests have subscribed once each has received a first line.
    while said.receiver_count() < GUESTS {
        tokio::task::yield_now().await;
    }
    let guests: JoinSet<()> = sockets
        .into_iter()
        .enumerate()
        .map(|(guest, mut socket)| async move {
            socket.send(Message::text(format!("guest {guest}"))).await.unwrap();
            let mut lines = Vec::new();
            while lines.len() < GUESTS {
                lines.push(socket.next().await.unwrap().unwrap().into_text().unwrap().to_string());
            }
            lines.sort();
            let mut all: Vec<String> = (0..GUESTS).map(|guest| format!("guest {guest}")).collect();
            all.sort();
            assert_eq!(lines, all);
        })
        .collect();
    guests.join_all().await;
}

async fn a_ping_is_answered_on_an_idle_connection() {
    let server = serve(echo).await;
    let (mut socket, _) = connect_async(format!("ws://{server}/")).await.unwrap();
    socket.send(Message::Ping("are you there".into())).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong("are you there".into()));
}

async fn a_close_reaches_the_other_side_with_its_reason() {
    let server = serve(|mut socket| async move {
        let farewell = CloseFrame { code: CloseCode::Away, reason: "enough".into() };
        socket.close(Some(farewell)).await.unwrap();
        while socket.next().await.is_some_and(|answer| answer.is_ok()) {}
    })
    .await;
    let (mut socket, _) = connect_async(format!("ws://{server}/")).await.unwrap();
    match socket.next().await.unwrap().unwrap() {
        Message::Close(Some(frame)) => {
            assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::Away, "enough"));
        }
        other => panic!("{other:?}"),
    }
    assert!(socket.next().await.is_none());
    let error = socket.send(Message::text("too late")).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyClosed | Error::ConnectionClosed), "{error:?}");
}

async fn a_lost_connection_is_an_error_and_not_an_end() {
    let server = serve(|mut socket| async move {
        socket.next().await.unwrap().unwrap();
    })
    .await;
    let (mut socket, _) = connect_async(format!("ws://{server}/")).await.unwrap();
    socket.send(Message::text("go away")).await.unwrap();
    assert!(socket.next().await.unwrap().is_err());
}

/// Sends back every message until the other side closes.
async fn echo(mut socket: WebSocketStream<impl AsyncRead + AsyncWrite + Unpin>) {
    while let Some(Ok(message)) = socket.next().await {
        if (message.is_text() || message.is_binary()) && socket.send(message).await.is_err() {
            break;
        }
    }
}

async fn serve<F>(each: impl Fn(WebSocketStream<TcpStream>) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let each = Arc::new(std::sync::Mutex::new(each));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let each = each.clone();
            tokio::spawn(async move {
                let socket = accept_async(stream).await.unwrap();
                let talk = (each.lock().unwrap())(socket);
                talk.await;
            });
        }
    });
    address
}
