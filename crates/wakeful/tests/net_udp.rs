//! UDP over loopback.

mod support;

use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use support::{current_thread, each_flavor, multi_thread};
use wakeful::io::ReadBuf;
use wakeful::net::UdpSocket;

async fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
}

#[test]
fn datagrams_arrive_whole_with_their_sender() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (a, b) = (socket().await, socket().await);
            let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
            assert_eq!(a.send_to(b"one", to).await.unwrap(), 3);
            assert_eq!(a.send_to(b"", to).await.unwrap(), 0);
            assert_eq!(a.try_send_to(b"a longer one", to).unwrap(), 12);
            let mut buf = [0; 32];
            assert_eq!(b.peek_sender().await.unwrap(), from);
            assert_eq!(b.peek_from(&mut buf).await.unwrap(), (3, from));
            assert_eq!(b.recv_from(&mut buf).await.unwrap(), (3, from));
            assert_eq!(&buf[..3], b"one");
            assert_eq!(b.recv_from(&mut buf).await.unwrap(), (0, from));
            // The end of a datagram that is longer than the buffer is lost; the next datagram is
            // not.
            assert_eq!(b.recv_from(&mut buf[..4]).await.unwrap(), (4, from));
            assert_eq!(&buf[..4], b"a lo");
            let error = b.try_recv_from(&mut buf).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        });
    }
}

#[test]
fn connected_sockets_receive_from_each_other_only() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (a, b, stranger) = (socket().await, socket().await, socket().await);
            a.connect(b.local_addr().unwrap()).await.unwrap();
            b.connect(a.local_addr().unwrap()).await.unwrap();
            assert_eq!(a.peer_addr().unwrap(), b.local_addr().unwrap());
            stranger.send_to(b"hey", b.local_addr().unwrap()).await.unwrap();
            assert_eq!(a.send(b"ping").await.unwrap(), 4);
            let mut buf = [0; 32];
            assert_eq!(b.peek(&mut buf).await.unwrap(), 4);
            assert_eq!(b.try_peek(&mut buf).unwrap(), 4);
            assert_eq!(b.recv(&mut buf).await.unwrap(), 4);
            assert_eq!(&buf[..4], b"ping");
            b.writable().await.unwrap();
            assert_eq!(b.try_send(b"pong").unwrap(), 4);
            let mut grows = Vec::with_capacity(16);
            assert_eq!(a.recv_buf(&mut grows).await.unwrap(), 4);
            assert_eq!(grows, b"pong");
            assert_eq!(a.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        });
    }
}

#[test]
fn polling() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (a, b) = (socket().await, socket().await);
            let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
            a.connect(to).await.unwrap();
            poll_fn(|cx| a.poll_send_ready(cx)).await.unwrap();
            assert_eq!(poll_fn(|cx| a.poll_send(cx, b"1")).await.unwrap(), 1);
            assert_eq!(poll_fn(|cx| a.poll_send_to(cx, b"22", to)).await.unwrap(), 2);
            let mut memory = [0; 32];
            poll_fn(|cx| b.poll_recv_ready(cx)).await.unwrap();
            assert_eq!(poll_fn(|cx| b.poll_peek_sender(cx)).await.unwrap(), from);
            let mut buf = ReadBuf::new(&mut memory);
            assert_eq!(poll_fn(|cx| b.poll_peek_from(cx, &mut buf)).await.unwrap(), from);
            poll_fn(|cx| b.poll_recv(cx, &mut buf)).await.unwrap();
            assert_eq!(poll_fn(|cx| b.poll_recv_from(cx, &mut buf)).await.unwrap(), from);
            assert_eq!(buf.filled(), b"1122");
        });
    }
}

#[test]
fn a_refusal_ends_the_wait_for_an_answer() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let gone = socket().await.local_addr().unwrap();
            let socket = socket().await;
            socket.connect(gone).await.unwrap();
            socket.send(b"anybody?").await.unwrap();
            let error = socket.recv(&mut [0; 4]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        });
    }
}

#[test]
fn a_dropped_receive_loses_no_datagram() {
    current_thread().block_on(async {
        let (a, b) = (socket().await, socket().await);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pin!(b.recv(&mut [0; 4])).poll(&mut cx).is_pending());
        a.send_to(b"kept", b.local_addr().unwrap()).await.unwrap();
        assert_eq!(b.recv(&mut [0; 4]).await.unwrap(), 4);
    });
}

#[test]
fn one_socket_sends_and_receives_in_many_tasks() {
    const DATAGRAMS: usize = 200;
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let (a, b) = (Arc::new(socket().await), Arc::new(socket().await));
        let to = b.local_addr().unwrap();
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let b = b.clone();
                wakeful::spawn(async move {
                    let mut sum = 0;
                    for _ in 0..DATAGRAMS / 4 {
                        let mut number = [0; 8];
                        b.recv_from(&mut number).await.unwrap();
                        sum += usize::from_ne_bytes(number);
                    }
                    sum
                })
            })
            .collect();
        for n in 0..DATAGRAMS {
            a.send_to(&n.to_ne_bytes(), to).await.unwrap();
            if n % 16 == 0 {
                // Loopback has no flow control. The yield lets the receivers keep up.
                wakeful::task::yield_now().await;
            }
        }
        let mut sum = 0;
        for receiver in receivers {
            sum += receiver.await.unwrap();
        }
        assert_eq!(sum, DATAGRAMS * (DATAGRAMS - 1) / 2);
    });
}

#[test]
fn options_reach_the_kernel() {
    current_thread().block_on(async {
        let socket = socket().await;
        socket.set_broadcast(true).unwrap();
        assert!(socket.broadcast().unwrap());
        socket.set_multicast_loop_v4(false).unwrap();
        assert!(!socket.multicast_loop_v4().unwrap());
        socket.set_multicast_ttl_v4(3).unwrap();
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 3);
        socket.set_ttl(33).unwrap();
        assert_eq!(socket.ttl().unwrap(), 33);
        socket.set_tos_v4(8).unwrap();
        assert_eq!(socket.tos_v4().unwrap(), 8);
        assert_eq!(socket.device().unwrap(), None);
        assert!(socket.take_error().unwrap().is_none());
        let std_socket = socket.into_std().unwrap();
        let back = UdpSocket::from_std(std_socket).unwrap();
        back.send_to(b"", back.local_addr().unwrap()).await.unwrap();
        assert_eq!(back.recv(&mut [0; 1]).await.unwrap(), 0);
    });
}
