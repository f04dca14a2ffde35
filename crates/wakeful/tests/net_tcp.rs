//! TCP over loopback.

mod support;

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use support::net::{raise_descriptor_limit, refused_address, tcp_pair};
use support::{current_thread, each_flavor, eventually, multi_thread};
use wakeful::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest, ReadBuf};
use wakeful::net::{TcpListener, TcpSocket, TcpStream};

async fn echo(mut stream: TcpStream) -> io::Result<u64> {
    let (mut reader, mut writer) = stream.split();
    wakeful::io::copy(&mut reader, &mut writer).await
}

#[test]
fn large_data_is_echoed() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = wakeful::spawn(async move { echo(listener.accept().await?.0).await });
            let mut client = TcpStream::connect(address).await.unwrap();
            // More than the buffers of both ends hold, so that both directions have to wait.
            let sent: Vec<u8> = (0..8_000_000_u32).map(|n| (n / 7) as u8).collect();
            let (mut reader, mut writer) = client.split();
            let mut received = vec![0; sent.len()];
            let write = async {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let mut write = pin!(write);
            let mut is_written = false;
            let mut read = pin!(reader.read_exact(&mut received));
            poll_fn(|cx| {
                is_written = is_written || write.as_mut().poll(cx).is_ready();
                read.as_mut().poll(cx)
            })
            .await
            .unwrap();
            assert!(sent == received);
            assert_eq!(server.await.unwrap().unwrap(), sent.len() as u64);
        });
    }
}

#[test]
fn a_thousand_connections_at_once() {
    const CONNECTIONS: usize = 1000;
    raise_descriptor_limit();
    for runtime in [current_thread(), multi_thread(2)] {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = wakeful::spawn(async move {
                let mut streams = Vec::new();
                for _ in 0..CONNECTIONS {
                    streams.push(listener.accept().await.unwrap().0);
                }
                // All connections are open at this point.
                let echoes = streams.into_iter().map(|stream| wakeful::spawn(echo(stream)));
                let mut bytes = 0;
                for echo in echoes.collect::<Vec<_>>() {
                    bytes += echo.await.unwrap().unwrap();
                }
                bytes
            });
            let clients = (0..CONNECTIONS).map(|n| {
                wakeful::spawn(async move {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    let sent = format!("connection {n}");
                    stream.write_all(sent.as_bytes()).await.unwrap();
                    let mut received = vec![0; sent.len()];
                    stream.read_exact(&mut received).await.unwrap();
                    assert_eq!(received, sent.as_bytes());
                    sent.len() as u64
                })
            });
            let mut bytes = 0;
            for client in clients.collect::<Vec<_>>() {
                bytes += client.await.unwrap();
            }
            assert_eq!(server.await.unwrap(), bytes);
        });
    }
}

#[test]
fn connecting_without_a_listener_fails() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let error = TcpStream::connect(refused_address()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            let socket = TcpSocket::new_v4().unwrap();
            let error = socket.connect(refused_address()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        });
    }
}

#[test]
fn connect_uses_the_first_address_that_succeeds() {
    current_thread().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let addresses = [refused_address(), address, refused_address()];
        let stream = TcpStream::connect(&addresses[..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);

        let bound = TcpListener::bind(&[address, "127.0.0.1:0".parse().unwrap()][..]).await;
        assert_ne!(bound.unwrap().local_addr().unwrap(), address);

        let none: &[SocketAddr] = &[];
        let error = TcpStream::connect(none).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let error = TcpListener::bind(none).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn every_kind_of_name_and_address_resolves() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
            TcpStream::connect(("127.0.0.1".to_owned(), port)).await.unwrap();
            TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
            TcpStream::connect(&format!("localhost:{port}")).await.unwrap();
            TcpStream::connect(&("localhost", port)).await.unwrap();
            let found = wakeful::net::lookup_host(("localhost", port)).await.unwrap();
            assert!(found.collect::<Vec<_>>().iter().all(|a| a.ip().is_loopback()));
            assert!(TcpStream::connect("no port in here").await.is_err());
        });
    }
}

#[test]
fn peeking_consumes_nothing() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            client.write_all(b"first").await.unwrap();
            let mut buf = [0; 16];
            for _ in 0..3 {
                assert_eq!(server.peek(&mut buf).await.unwrap(), 5);
                assert_eq!(&buf[..5], b"first");
            }
            let (mut reader, _writer) = server.split();
            assert_eq!(reader.peek(&mut buf[..2]).await.unwrap(), 2);
            assert_eq!(server.read(&mut buf).await.unwrap(), 5);
            drop(client);
            assert_eq!(server.peek(&mut buf).await.unwrap(), 0);
        });
    }
}

#[test]
fn a_closed_direction_leaves_the_other_open() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            client.write_all(b"request").await.unwrap();
            client.shutdown().await.unwrap();
            client.shutdown().await.unwrap();
            let mut request = String::new();
            server.read_to_string(&mut request).await.unwrap();
            assert_eq!(request, "request");
            // At the end of the stream it stays readable.
            assert_eq!(server.read(&mut [0; 4]).await.unwrap(), 0);
            server.readable().await.unwrap();
            server.write_all(b"answer").await.unwrap();
            drop(server);
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert_eq!(answer, "answer");
        });
    }
}

#[test]
fn a_reset_is_an_error() {
    current_thread().block_on(async {
        let (client, mut server) = tcp_pair().await;
        client.set_zero_linger().unwrap();
        drop(client);
        let error = server.read(&mut [0; 4]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn empty_buffers_transfer_nothing() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            server.writable().await.unwrap();
            assert_eq!(server.write(&[]).await.unwrap(), 0);
            assert_eq!(server.try_write(&[]).unwrap(), 0);
            client.write_all(b"data").await.unwrap();
            assert_eq!(server.read(&mut []).await.unwrap(), 0);
            server.readable().await.unwrap();
            assert_eq!(server.try_read(&mut []).unwrap(), 0);
            let mut buf = [0; 8];
            assert_eq!(server.read(&mut buf).await.unwrap(), 4);
            assert_eq!(server.write_vectored(&[]).await.unwrap(), 0);
        });
    }
}

fn poll_read(stream: &mut TcpStream, buf: &mut [u8]) -> Poll<io::Result<usize>> {
    let mut buf = ReadBuf::new(buf);
    let read = Pin::new(stream).poll_read(&mut Context::from_waker(Waker::noop()), &mut buf);
    read.map_ok(|()| buf.filled().len())
}

#[test]
fn a_short_read_clears_readiness() {
    // On a current-thread runtime the driver is not polled between these steps.
    current_thread().block_on(async {
        let (client, mut server) = tcp_pair().await;
        let mut client = client.into_std().unwrap();
        client.write_all(b"abc").unwrap();
        assert!(matches!(poll_read(&mut server, &mut [0; 8]), Poll::Ready(Ok(3))));
        client.write_all(b"def").unwrap();
        // There is data, but the runtime has had no event yet: it made no system call to find out.
        assert!(poll_read(&mut server, &mut [0; 8]).is_pending());
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 3);
        // A read that fills its buffer leaves the readiness: there may be more data.
        client.write_all(b"ghi").unwrap();
        assert_eq!(server.read(&mut [0; 2]).await.unwrap(), 2);
        assert!(matches!(poll_read(&mut server, &mut [0; 2]), Poll::Ready(Ok(1))));
    });
}

#[test]
fn the_end_is_seen_after_a_short_read() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            client.write_all(b"last words").await.unwrap();
            drop(client);
            let mut buf = [0; 64];
            assert_eq!(server.read(&mut buf).await.unwrap(), 10);
            assert_eq!(server.read(&mut buf).await.unwrap(), 0);
        });
    }
}

#[test]
fn try_operations_do_not_wait() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (client, server) = tcp_pair().await;
            let error = server.try_read(&mut [0; 4]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            client.writable().await.unwrap();
            assert_eq!(client.try_write(b"one").unwrap(), 3);
            let slices = [IoSlice::new(b"two"), IoSlice::new(b"three")];
            assert_eq!(client.try_write_vectored(&slices).unwrap(), 8);
            let mut received = Vec::new();
            while received.len() < 11 {
                server.readable().await.unwrap();
                match server.try_read_buf(&mut received) {
                    Ok(n) => assert_ne!(n, 0),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
            assert_eq!(received, b"onetwothree");

            // Writes until the send buffer is full.
            let full = loop {
                match client.try_write(&[0; 65536]) {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            assert_eq!(full.kind(), ErrorKind::WouldBlock);
            let mut buf = vec![0; 1 << 20];
            let mut slices = [IoSliceMut::new(&mut buf)];
            server.readable().await.unwrap();
            assert_ne!(server.try_read_vectored(&mut slices).unwrap(), 0);
        });
    }
}

#[test]
fn async_io_and_try_io() {
    // On a current-thread runtime no event arrives between these steps.
    current_thread().block_on(async {
        let (mut client, server) = tcp_pair().await;
        client.write_all(b"x").await.unwrap();
        let mut tries = 0;
        let n = server
            .async_io(Interest::READABLE, || {
                tries += 1;
                socket2::SockRef::from(&server).recv(&mut [std::mem::MaybeUninit::uninit(); 4])
            })
            .await
            .unwrap();
        assert_eq!(n, 1);
        assert!(tries <= 2);
        // After a `WouldBlock` the socket counts as not ready, and `try_io` does not call the
        // closure.
        let nothing: io::Result<()> =
            server.try_io(Interest::READABLE, || Err(ErrorKind::WouldBlock.into()));
        assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
        let unasked: io::Result<()> = server.try_io(Interest::READABLE, || panic!("called"));
        assert_eq!(unasked.unwrap_err().kind(), ErrorKind::WouldBlock);
        let ready = server.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap();
        assert!(ready.is_writable() && !ready.is_readable());
    });
}

#[test]
fn to_std_and_back() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(listener).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            // Converts both ways again, once with `TryFrom`.
            let listener: TcpListener = listener.into_std().unwrap().try_into().unwrap();
            for round in 0..3 {
                client.write_all(b"ping").await.unwrap();
                let std_server = server.into_std().unwrap();
                let read = wakeful::task::spawn_blocking(move || {
                    let mut stream = std_server;
                    stream.set_nonblocking(false).unwrap();
                    let mut buf = [0; 4];
                    stream.read_exact(&mut buf).unwrap();
                    stream.set_nonblocking(true).unwrap();
                    (stream, buf)
                });
                let (std_server, buf) = read.await.unwrap();
                assert_eq!(&buf, b"ping", "round {round}");
                server = TcpStream::from_std(std_server).unwrap();
                server.write_all(b"pong").await.unwrap();
                client.read_exact(&mut [0; 4]).await.unwrap();
            }
            let second = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            assert_eq!(listener.accept().await.unwrap().1, second.local_addr().unwrap());
        });
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "set_nonblocking(true)")]
fn a_blocking_socket_is_refused() {
    current_thread().block_on(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        drop(TcpListener::from_std(listener));
    });
}

#[test]
fn options_reach_the_kernel() {
    current_thread().block_on(async {
        let (client, server) = tcp_pair().await;
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap());
        client.set_ttl(42).unwrap();
        assert_eq!(client.ttl().unwrap(), 42);
        client.set_quickack(true).unwrap();
        client.quickack().unwrap();
        assert_eq!(server.linger().unwrap(), None);
        server.set_zero_linger().unwrap();
        assert_eq!(server.linger().unwrap(), Some(Duration::ZERO));
        assert!(server.take_error().unwrap().is_none());

        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_reuseport(true).unwrap();
        socket.set_keepalive(true).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_send_buffer_size(32 << 10).unwrap();
        socket.set_recv_buffer_size(32 << 10).unwrap();
        socket.set_tos_v4(16).unwrap();
        assert!(socket.reuseaddr().unwrap() && socket.reuseport().unwrap());
        assert!(socket.keepalive().unwrap() && socket.nodelay().unwrap());
        assert!(socket.send_buffer_size().unwrap() >= 32 << 10);
        assert!(socket.recv_buffer_size().unwrap() >= 32 << 10);
        assert_eq!(socket.tos_v4().unwrap(), 16);
        assert_eq!(socket.device().unwrap(), None);
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        let listener = socket.listen(8).unwrap();
        assert_eq!(listener.local_addr().unwrap(), address);
        listener.set_ttl(43).unwrap();
        assert_eq!(listener.ttl().unwrap(), 43);
    });
}

#[test]
fn sockets_are_nonblocking_and_close_on_exec() {
    use std::os::fd::AsRawFd;
    current_thread().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        for fd in [listener.as_raw_fd(), client.as_raw_fd(), server.as_raw_fd()] {
            // SAFETY: `fcntl` with these commands takes no pointers.
            let (flags, fd_flags) =
                unsafe { (libc::fcntl(fd, libc::F_GETFL), libc::fcntl(fd, libc::F_GETFD)) };
            assert_ne!(flags & libc::O_NONBLOCK, 0);
            assert_ne!(fd_flags & libc::FD_CLOEXEC, 0);
        }
    });
}

#[test]
fn a_write_waits_for_the_reader() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            let written = wakeful::spawn(async move {
                let big = vec![7; 16 << 20];
                client.write_all(&big).await.unwrap();
                client
            });
            let mut received = Vec::new();
            (&mut server).take(16 << 20).read_to_end(&mut received).await.unwrap();
            assert!(received.len() == 16 << 20 && received.iter().all(|&byte| byte == 7));
            drop(written.await.unwrap());
        });
    }
}

#[test]
fn vectored_writes_of_any_length_arrive_in_order() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            assert!(client.is_write_vectored());
            // First more slices than the kernel accepts in one call, then more bytes than the
            // buffer holds.
            for (count, len) in [(3000, 10), (64, 200_000)] {
                let sent: Vec<u8> = (0..count * len).map(|n| (n % 251) as u8).collect();
                let expected = sent.clone();
                let writer = wakeful::spawn(async move {
                    let mut slices: Vec<_> = sent.chunks(len).map(IoSlice::new).collect();
                    let mut rest = &mut slices[..];
                    while !rest.is_empty() {
                        let n = client.write_vectored(rest).await.unwrap();
                        assert_ne!(n, 0);
                        IoSlice::advance_slices(&mut rest, n);
                    }
                    client
                });
                let mut received = vec![0; expected.len()];
                server.read_exact(&mut received).await.unwrap();
                assert!(received == expected);
                client = writer.await.unwrap();
            }
        });
    }
}

#[test]
fn a_listener_is_polled_by_one_task_and_awaited_by_others() {
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let listener = std::sync::Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        let waiting: Vec<_> = (0..8)
            .map(|n| {
                let listener = listener.clone();
                wakeful::spawn(async move {
                    if n == 0 {
                        poll_fn(|cx| listener.poll_accept(cx)).await.unwrap()
                    } else {
                        listener.accept().await.unwrap()
                    }
                })
            })
            .collect();
        let mut clients = Vec::new();
        for _ in 0..8 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        for task in waiting {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_dropped_read_loses_nothing() {
    current_thread().block_on(async {
        let (mut client, mut server) = tcp_pair().await;
        for _ in 0..10 {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(pin!(server.read(&mut [0; 4])).poll(&mut cx).is_pending());
            assert!(pin!(server.readable()).poll(&mut cx).is_pending());
            assert!(pin!(server.peek(&mut [0; 4])).poll(&mut cx).is_pending());
        }
        client.write_all(b"kept").await.unwrap();
        let mut buf = [0; 4];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"kept");
    });
}

#[test]
fn a_drop_is_seen_at_the_other_end() {
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let (client, mut server) = tcp_pair().await;
        let reader = wakeful::spawn(async move { server.read(&mut [0; 4]).await });
        wakeful::task::yield_now().await;
        drop(client);
        assert_eq!(reader.await.unwrap().unwrap(), 0);
    });
    eventually("the runtime is idle", || runtime.metrics().num_alive_tasks() == 0);
}
