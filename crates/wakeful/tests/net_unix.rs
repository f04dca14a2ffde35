//! Unix sockets.

mod support;

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Waker};
use support::{current_thread, each_flavor, multi_thread};
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::unix::SocketAddr;
use wakeful::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};

/// A unique path. Its file is removed on drop.
struct TempPath(PathBuf);

impl TempPath {
    fn new() -> TempPath {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("wakeful-unix-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        TempPath(std::env::temp_dir().join(name))
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        let _not_there = std::fs::remove_file(&self.0);
    }
}

/// Returns a unique abstract name, as a path.
fn abstract_path() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("\0wakeful-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed))
}

#[test]
fn streams_at_a_path() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let path = TempPath::new();
            let listener = UnixListener::bind(&path.0).unwrap();
            assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*path.0));
            let error = UnixListener::bind(&path.0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
            let connecting = UnixStream::connect(path.0.clone());
            let connecting = wakeful::spawn(connecting);
            let (mut server, peer) = listener.accept().await.unwrap();
            assert!(peer.is_unnamed());
            let mut client = connecting.await.unwrap().unwrap();
            assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*path.0));
            assert!(client.local_addr().unwrap().is_unnamed());
            client.write_all(b"over a path").await.unwrap();
            client.shutdown().await.unwrap();
            let mut text = String::new();
            server.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "over a path");
            assert!(listener.take_error().unwrap().is_none());
        });
    }
}

#[test]
fn streams_at_an_abstract_name() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let path = abstract_path();
            let listener = UnixListener::bind(&path).unwrap();
            let address = listener.local_addr().unwrap();
            assert_eq!(address.as_abstract_name(), Some(&path.as_bytes()[1..]));
            assert!(address.as_pathname().is_none() && !address.is_unnamed());
            let mut client = UnixStream::connect(&path).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(b"x").await.unwrap();
            client.read_exact(&mut [0; 1]).await.unwrap();
            drop(listener);

            let name = abstract_path();
            let address = std::os::unix::net::SocketAddr::from_abstract_name(&name[1..]).unwrap();
            let address = SocketAddr::from(address);
            let listener = UnixListener::bind_addr(&address).unwrap();
            let _client = UnixStream::connect_addr(&address).await.unwrap();
            listener.accept().await.unwrap();
        });
    }
}

#[test]
fn connecting_without_a_listener_fails() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let path = TempPath::new();
            let error = UnixStream::connect(&path.0).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            drop(UnixListener::bind(&path.0).unwrap());
            let error = UnixStream::connect(&path.0).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            let too_long = "x".repeat(200);
            assert!(UnixStream::connect(&too_long).await.is_err());
            assert!(UnixListener::bind("nul in\0 the middle").is_err());
        });
    }
}

#[test]
fn peer_cred_returns_the_credentials() {
    current_thread().block_on(async {
        let (a, _b) = UnixStream::pair().unwrap();
        let credentials = a.peer_cred().unwrap();
        // SAFETY: both calls take no arguments and cannot fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        assert_eq!((credentials.uid(), credentials.gid()), (uid, gid));
        assert_eq!(credentials.pid(), Some(std::process::id() as i32));
    });
}

#[test]
fn pairs_of_streams() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            // The stream is assumed to be writable, so the first write needs no event from the
            // driver.
            assert_eq!(a.try_write(b"now").unwrap(), 3);
            b.read_exact(&mut [0; 3]).await.unwrap();
            let big: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
            let sent = big.clone();
            let writer = wakeful::spawn(async move {
                a.write_all(&sent).await.unwrap();
                a
            });
            let mut received = vec![0; big.len()];
            b.read_exact(&mut received).await.unwrap();
            assert!(received == big);
            drop(writer.await.unwrap());
            assert_eq!(b.read(&mut [0; 4]).await.unwrap(), 0);
        });
    }
}

#[test]
fn datagrams_at_paths() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (a_path, b_path) = (TempPath::new(), TempPath::new());
            let a = UnixDatagram::bind(&a_path.0).unwrap();
            let b = UnixDatagram::bind(&b_path.0).unwrap();
            assert_eq!(a.send_to(b"hello", &b_path.0).await.unwrap(), 5);
            let mut buf = [0; 16];
            let (n, from) = b.recv_from(&mut buf).await.unwrap();
            assert_eq!((&buf[..n], from.as_pathname()), (&b"hello"[..], Some(&*a_path.0)));
            b.connect(&a_path.0).unwrap();
            assert_eq!(b.peer_addr().unwrap().as_pathname(), Some(&*a_path.0));
            assert_eq!(b.send(b"answer").await.unwrap(), 6);
            let mut grows = Vec::with_capacity(16);
            let (n, from) = a.recv_buf_from(&mut grows).await.unwrap();
            assert_eq!((n, from.as_pathname()), (6, Some(&*b_path.0)));
            assert_eq!(grows, b"answer");

            let unbound = UnixDatagram::unbound().unwrap();
            unbound.send_to(b"who?", &a_path.0).await.unwrap();
            let (n, from) = a.recv_from(&mut buf).await.unwrap();
            assert!(n == 4 && from.is_unnamed());
            unbound.send_to(b"who?", &a_path.0).await.unwrap();
            let (_, from) = a.recv_buf_from(&mut grows).await.unwrap();
            assert!(from.is_unnamed());
        });
    }
}

#[test]
fn datagrams_at_an_abstract_name() {
    current_thread().block_on(async {
        let path = abstract_path();
        let receiver = UnixDatagram::bind(&path).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.send_to(b"one", &path).await.unwrap();
        sender.connect(&path).unwrap();
        sender.send(b"two").await.unwrap();
        let mut buf = [0; 8];
        assert_eq!(receiver.recv(&mut buf).await.unwrap(), 3);
        assert_eq!(receiver.recv(&mut buf).await.unwrap(), 3);
    });
}

#[test]
fn pairs_of_datagram_sockets_wait_for_room() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (a, b) = UnixDatagram::pair().unwrap();
            let mut sent = 0;
            let full = loop {
                match a.try_send(&[1; 100]) {
                    Ok(n) => assert_eq!(n, 100),
                    Err(error) => break error,
                }
                sent += 1;
            };
            assert_eq!(full.kind(), ErrorKind::WouldBlock);
            let mut last = Box::pin(a.send(b"last"));
            assert!(last.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            for _ in 0..sent {
                assert_eq!(b.recv(&mut [0; 200]).await.unwrap(), 100);
            }
            assert_eq!(last.await.unwrap(), 4);
            assert_eq!(b.recv(&mut [0; 200]).await.unwrap(), 4);
            a.shutdown(std::net::Shutdown::Both).unwrap();
            assert!(a.send(b"x").await.is_err());
        });
    }
}

#[test]
fn a_socket_converts_only_to_its_own_kind() {
    current_thread().block_on(async {
        let path = TempPath::new();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&path.0).unwrap();
        let listener = socket.listen(4).unwrap();
        let _client = UnixSocket::new_stream().unwrap().connect(&path.0).await.unwrap();
        listener.accept().await.unwrap();

        let datagram_path = TempPath::new();
        let socket = UnixSocket::new_datagram().unwrap();
        socket.bind(&datagram_path.0).unwrap();
        let receiver = socket.datagram().unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.send_to(b"x", &datagram_path.0).await.unwrap();
        receiver.recv(&mut [0; 1]).await.unwrap();

        let text = |error: std::io::Error| error.to_string();
        let datagram = || UnixSocket::new_datagram().unwrap();
        assert!(text(datagram().listen(1).unwrap_err()).contains("datagram socket"));
        assert!(text(datagram().connect(&path.0).await.unwrap_err()).contains("datagram socket"));
        let stream = UnixSocket::new_stream().unwrap();
        assert!(text(stream.datagram().unwrap_err()).contains("stream socket"));
    });
}

#[test]
fn to_std_and_back() {
    let runtime = multi_thread(1);
    runtime.block_on(async {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut ours = UnixStream::from_std(ours).unwrap();
        theirs.write_all(b"std").unwrap();
        ours.read_exact(&mut [0; 3]).await.unwrap();
        let mut ours: UnixStream = ours.into_std().unwrap().try_into().unwrap();
        theirs.write_all(b"std").unwrap();
        ours.read_exact(&mut [0; 3]).await.unwrap();

        let (a, b) = UnixDatagram::pair().unwrap();
        let a = UnixDatagram::from_std(a.into_std().unwrap()).unwrap();
        b.send(b"x").await.unwrap();
        a.recv(&mut [0; 1]).await.unwrap();

        let listener = UnixListener::bind(abstract_path()).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = UnixListener::from_std(listener.into_std().unwrap()).unwrap();
        let _client = UnixStream::connect_addr(&address).await.unwrap();
        listener.accept().await.unwrap();
    });
}
