//! QUIC with quinn: streams and datagrams over UDP sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ecosystem::{client_tls, payload, same_bytes, server_tls};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, IdleTimeout, ReadError, RecvStream,
    SendStream, ServerConfig, TransportConfig, VarInt, WriteError,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

ecosystem::on_each_runtime!(
    two_hundred_streams_at_once_on_one_connection,
    fifty_connections_at_once,
    eight_mebibytes_come_back,
    datagrams_come_back,
    a_reset_stream_ends_its_reader,
    a_stopped_stream_ends_its_writer,
    a_close_reaches_the_other_side_with_its_reason,
    a_silent_peer_is_given_up,
    an_endpoint_waits_until_all_is_closed,
);

async fn two_hundred_streams_at_once_on_one_connection() {
    let (client, server) = (client(), serve_echo());
    let connection = connect(&client, server).await;
    let mut streams = JoinSet::new();
    for number in 0..200 {
        let connection = connection.clone();
        streams.spawn(async move {
            let sent = format!("stream {number}");
            assert_eq!(round_trip(&connection, sent.as_bytes()).await, sent.as_bytes());
        });
    }
    assert_eq!(streams.join_all().await.len(), 200);
}

async fn fifty_connections_at_once() {
    let (client, server) = (client(), serve_echo());
    let mut connections = JoinSet::new();
    for number in 0..50 {
        let client = client.clone();
        connections.spawn(async move {
            let connection = connect(&client, server).await;
            let sent = format!("connection {number}");
            assert_eq!(round_trip(&connection, sent.as_bytes()).await, sent.as_bytes());
        });
    }
    assert_eq!(connections.join_all().await.len(), 50);
}

async fn eight_mebibytes_come_back() {
    let (client, server) = (client(), serve_echo());
    let connection = connect(&client, server).await;
    let sent = payload(8 << 20);
    same_bytes(&round_trip(&connection, &sent).await, &sent);
}

/// Datagrams may be lost even on loopback, so each is sent until it comes back.
async fn datagrams_come_back() {
    let (client, server) = (
        client(),
        serve(|connection| async move {
            while let Ok(datagram) = connection.read_datagram().await {
                connection.send_datagram(datagram).unwrap();
            }
        }),
    );
    let connection = connect(&client, server).await;
    for number in 0..100_u8 {
        loop {
            connection.send_datagram(vec![number; 1000].into()).unwrap();
            let answer = connection.read_datagram();
            match tokio::time::timeout(Duration::from_secs(1), answer).await {
                // A duplicate of an earlier datagram.
                Ok(Ok(came)) if came[0] < number => {}
                Ok(came) => break assert_eq!(came.unwrap(), vec![number; 1000]),
                Err(_lost) => {}
            }
        }
    }
}

async fn a_reset_stream_ends_its_reader() {
    let (client, server) = (
        client(),
        serve(|connection| async move {
            let (mut send, _receive) = connection.accept_bi().await.unwrap();
            send.write_all(b"so far").await.unwrap();
            let _ = send.reset(VarInt::from_u32(7));
            connection.closed().await;
        }),
    );
    let connection = connect(&client, server).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    let error = loop {
        match receive.read_chunk(100, true).await {
            Ok(some) => assert!(some.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error, ReadError::Reset(VarInt::from_u32(7)));
}

async fn a_stopped_stream_ends_its_writer() {
    let (client, server) = (
        client(),
        serve(|connection| async move {
            let (_send, mut receive) = connection.accept_bi().await.unwrap();
            receive.stop(VarInt::from_u32(9)).unwrap();
            connection.closed().await;
        }),
    );
    let connection = connect(&client, server).await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    let error = loop {
        if let Err(error) = send.write_all(&[0; 1000]).await {
            break error;
        }
    };
    assert_eq!(error, WriteError::Stopped(VarInt::from_u32(9)));
}

async fn a_close_reaches_the_other_side_with_its_reason() {
    let (client, server) = (
        client(),
        serve(|connection| async move {
            connection.close(VarInt::from_u32(42), b"enough");
        }),
    );
    let connection = connect(&client, server).await;
    match connection.closed().await {
        ConnectionError::ApplicationClosed(close) => {
            assert_eq!(
                (close.error_code, &close.reason[..]),
                (VarInt::from_u32(42), &b"enough"[..])
            );
        }
        other => panic!("{other:?}"),
    }
}

async fn a_silent_peer_is_given_up() {
    let mut transport = TransportConfig::default();
    let limit = IdleTimeout::try_from(Duration::from_secs(1)).unwrap();
    transport.max_idle_timeout(Some(limit));
    let mut config = client_config();
    config.transport_config(Arc::new(transport));
    let mut client = client();
    client.set_default_client_config(config);
    let server = serve(|connection| async move { _ = connection.closed().await });
    let connection = connect(&client, server).await;
    assert_eq!(connection.closed().await, ConnectionError::TimedOut);
}

async fn an_endpoint_waits_until_all_is_closed() {
    let (client, server) = (client(), serve_echo());
    for number in 0..10_u8 {
        let connection = connect(&client, server).await;
        assert_eq!(round_trip(&connection, &[number]).await, [number]);
    }
    client.wait_idle().await;
    assert_eq!(client.open_connections(), 0);
}

/// Uses Tokio's I/O traits, which quinn's streams implement.
async fn round_trip(connection: &Connection, sent: &[u8]) -> Vec<u8> {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let mut came = Vec::new();
    let write = async {
        AsyncWriteExt::write_all(&mut send, sent).await.unwrap();
        AsyncWriteExt::shutdown(&mut send).await.unwrap();
    };
    let read = AsyncReadExt::read_to_end(&mut receive, &mut came);
    let ((), read) = tokio::join!(write, read);
    assert_eq!(read.unwrap(), sent.len());
    came
}

fn serve_echo() -> SocketAddr {
    async fn send_back((mut send, mut receive): (SendStream, RecvStream)) {
        tokio::io::copy(&mut receive, &mut send).await.unwrap();
        send.finish().unwrap();
    }
    serve(|connection| async move {
        while let Ok(streams) = connection.accept_bi().await {
            tokio::spawn(send_back(streams));
        }
    })
}

fn serve<F>(each: impl Fn(Connection) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let tls = QuicServerConfig::try_from(server_tls(&["echo"])).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(patient());
    let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if let Ok(connection) = incoming.await {
                tokio::spawn(each(connection));
            }
        }
    });
    address
}

fn client() -> Endpoint {
    let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    endpoint.set_default_client_config(client_config());
    endpoint
}

fn client_config() -> ClientConfig {
    let tls = QuicClientConfig::try_from(client_tls(&["echo"])).unwrap();
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(patient());
    config
}

/// The timeouts are long, so that a machine that is stuck for a while breaks no connection.
fn patient() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(None);
    Arc::new(transport)
}

async fn connect(client: &Endpoint, server: SocketAddr) -> Connection {
    client.connect(server, "localhost").unwrap().await.unwrap()
}
