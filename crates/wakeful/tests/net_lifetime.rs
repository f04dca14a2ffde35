//! The lifetimes of sockets, runtimes and descriptors.

mod support;

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};
use support::net::{exhaust_descriptors, is_child, run_in_child, tcp_pair};
use support::{current_thread, each_flavor, multi_thread, stress_time};
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::unix::pipe;
use wakeful::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use wakeful::runtime::is_rt_shutdown_err;

#[test]
fn every_wait_fails_after_shutdown() {
    for runtime in each_flavor() {
        let (listener, (mut a, _b), udp, (mut sender, mut receiver)) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            (listener, tcp_pair().await, udp, pipe::pipe().unwrap())
        });
        drop(runtime);
        let other = current_thread();
        other.block_on(async {
            let errors = [
                listener.accept().await.unwrap_err(),
                // An accepted connection is assumed to be ready. This one came from `connect` and
                // is not.
                a.read(&mut [0; 4]).await.unwrap_err(),
                a.write(b"x").await.unwrap_err(),
                a.readable().await.unwrap_err(),
                udp.recv(&mut [0; 4]).await.unwrap_err(),
                udp.send_to(b"x", udp.local_addr().unwrap()).await.unwrap_err(),
                sender.write(b"x").await.unwrap_err(),
                receiver.read(&mut [0; 4]).await.unwrap_err(),
            ];
            for error in errors {
                assert!(is_rt_shutdown_err(&error), "{error:?}");
                assert!(error.to_string().contains("shut down"), "{error}");
            }
        });
    }
}

#[test]
fn other_errors_are_not_shutdown_errors() {
    assert!(!is_rt_shutdown_err(&ErrorKind::BrokenPipe.into()));
    assert!(!is_rt_shutdown_err(&std::io::Error::other("the runtime has shut down")));
}

#[test]
fn waiting_tasks_are_woken_by_shutdown() {
    for runtime in each_flavor() {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let (waiting, is_waiting) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            current_thread().block_on(async {
                let mut accept = Box::pin(listener.accept());
                std::future::poll_fn(|cx| {
                    let polled = accept.as_mut().poll(cx);
                    // The receiver is dropped only after the wait.
                    let _ignored = waiting.send(());
                    polled
                })
                .await
            })
        });
        is_waiting.recv().unwrap();
        drop(runtime);
        assert!(is_rt_shutdown_err(&thread.join().unwrap().unwrap_err()));
    }
}

#[test]
fn sockets_work_on_other_runtimes_than_their_own() {
    let home = multi_thread(1);
    let (mut a, mut b) = home.block_on(tcp_pair());
    current_thread().block_on(async move {
        for _ in 0..100 {
            a.write_all(b"there").await.unwrap();
            b.read_exact(&mut [0; 5]).await.unwrap();
            b.write_all(b"back").await.unwrap();
            a.read_exact(&mut [0; 4]).await.unwrap();
        }
    });
}

#[test]
fn a_socket_is_dropped_on_another_worker_during_events() {
    let runtime = multi_thread(4);
    let deadline = Instant::now() + stress_time();
    let dropped = Arc::new(AtomicUsize::new(0));
    runtime.block_on(async {
        while Instant::now() < deadline {
            let (client, server) = tcp_pair().await;
            let (mut client_reader, mut client_writer) = client.into_split();
            let (mut server_reader, mut server_writer) = server.into_split();
            // Both ends send at full speed, and the two halves of a stream end on different tasks.
            let talk = wakeful::spawn(async move {
                for _ in 0..20 {
                    if client_writer.write_all(&[1; 512]).await.is_err() {
                        break;
                    }
                }
            });
            let dropper = wakeful::spawn({
                let dropped = dropped.clone();
                async move {
                    let mut buf = [0; 300];
                    for _ in 0..5 {
                        let _gone = server_reader.read(&mut buf).await;
                    }
                    drop(server_reader);
                    dropped.fetch_add(1, SeqCst);
                }
            });
            let answer = wakeful::spawn(async move {
                let _gone = server_writer.write_all(&[2; 5000]).await;
                drop(server_writer);
            });
            let mut sum = 0;
            while let Ok(n @ 1..) = client_reader.read(&mut [0; 1024]).await {
                sum += n;
            }
            assert!(sum <= 5000);
            drop(client_reader);
            talk.await.unwrap();
            dropper.await.unwrap();
            answer.await.unwrap();
        }
    });
    assert_ne!(dropped.load(SeqCst), 0);
}

#[test]
fn an_aborted_task_drops_its_socket() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            let reading = wakeful::spawn(async move { server.read(&mut [0; 4]).await });
            wakeful::task::yield_now().await;
            reading.abort();
            assert!(reading.await.unwrap_err().is_cancelled());
            assert_eq!(client.read(&mut [0; 4]).await.unwrap_or(0), 0);
        });
    }
}

/// A descriptor number that is reused at once, while data is still on its way to the old socket:
/// the new socket must not see an event of the old one.
#[test]
fn a_reused_descriptor_gets_no_old_events() {
    for runtime in [current_thread(), multi_thread(2)] {
        runtime.block_on(async {
            let deadline = Instant::now() + stress_time();
            let mut reused = 0;
            let mut rounds = 0;
            while Instant::now() < deadline {
                rounds += 1;
                let (old, mut old_peer) = UnixStream::pair().unwrap();
                let number = old.as_raw_fd();
                // In most rounds this leaves an event that no worker has collected yet.
                old_peer.try_write(b"for the old one").unwrap();
                drop(old);
                let (new, mut new_peer) = UnixStream::pair().unwrap();
                reused += usize::from(new.as_raw_fd() == number);
                for _ in 0..3 {
                    wakeful::task::yield_now().await;
                    let error = new.try_read(&mut [0; 32]).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    // The socket is not even assumed to be readable: `try_io` does not call the
                    // closure.
                    let asked = new.try_io(wakeful::io::Interest::READABLE, || Ok(()));
                    assert!(asked.is_err(), "the new socket got the old one's readiness");
                }
                new_peer.write_all(b"for the new one").await.unwrap();
                let mut buf = [0; 32];
                let mut new = new;
                let n = new.read(&mut buf).await.unwrap();
                assert_eq!(&buf[..n], b"for the new one");
                // If the kernel is just checking the readiness of the closed socket, it keeps it
                // alive briefly.
                while old_peer.write(b"x").await.is_ok() {}
            }
            assert_ne!(reused, 0, "of {rounds}");
        });
    }
}

#[test]
fn an_available_answer_needs_no_park() {
    const ROUNDS: u64 = 2000;
    let runtime = multi_thread(1);
    let parks = runtime.block_on(async {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let echo = wakeful::spawn(async move {
            for _ in 0..ROUNDS {
                far.read_exact(&mut [0; 1]).await.unwrap();
                far.write_all(b"a").await.unwrap();
            }
        });
        let asking = wakeful::spawn(async move {
            let before = wakeful::runtime::Handle::current().metrics().worker_park_count(0);
            for _ in 0..ROUNDS {
                near.write_all(b"q").await.unwrap();
                near.read_exact(&mut [0; 1]).await.unwrap();
            }
            wakeful::runtime::Handle::current().metrics().worker_park_count(0) - before
        });
        echo.await.unwrap();
        asking.await.unwrap()
    });
    assert!(parks < ROUNDS / 2, "slept {parks} times in {ROUNDS} rounds");
}

#[test]
fn several_tasks_wait_for_one_socket() {
    for runtime in [current_thread(), multi_thread(2)] {
        runtime.block_on(async {
            const TASKS: usize = 50;
            let (mut client, server) = tcp_pair().await;
            let server = Arc::new(server);
            let taken = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let (server, taken) = (server.clone(), taken.clone());
                    wakeful::spawn(async move {
                        loop {
                            server.readable().await.unwrap();
                            match server.try_read(&mut [0; 1]) {
                                Ok(0) => break,
                                Ok(n) => taken.fetch_add(n, SeqCst),
                                Err(error) => {
                                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                                    continue;
                                }
                            };
                        }
                    })
                })
                .collect();
            for _ in 0..200 {
                client.write_all(b"ab").await.unwrap();
                wakeful::task::yield_now().await;
            }
            drop(client);
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(taken.load(SeqCst), 400);
        });
    }
}

#[test]
fn accept_fails_without_descriptors_and_recovers() {
    if !is_child() {
        run_in_child("accept_fails_without_descriptors_and_recovers");
        return;
    }
    for (round, runtime) in [current_thread(), multi_thread(2)].into_iter().enumerate() {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let clients: Vec<_> =
                (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
            // The descriptors that name resolution and the like need are open by now, or are not
            // needed.
            support::net::raise_descriptor_limit();
            exhaust_descriptors();
            for _ in 0..100 {
                let error = listener.accept().await.unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "round {round}");
            }
            let error = TcpStream::connect(address).await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
            assert!(UdpSocket::bind("127.0.0.1:0").await.is_err());
            assert!(UnixStream::pair().is_err());
            // A task that waits for the listener's readiness does not keep the runtime busy: other
            // tasks run.
            let others_ran = Arc::new(AtomicBool::new(false));
            let ran = others_ran.clone();
            wakeful::spawn(async move { ran.store(true, SeqCst) }).await.unwrap();
            assert!(others_ran.load(SeqCst));

            support::net::raise_descriptor_limit();
            let mut servers = Vec::new();
            for _ in &clients {
                servers.push(listener.accept().await.unwrap().0);
            }
            for mut client in clients {
                client.write_all(b"x").unwrap();
            }
            for server in &mut servers {
                server.read_exact(&mut [0; 1]).await.unwrap();
            }
        });
    }
}

#[test]
fn dense_timers_fire_without_descriptors() {
    if !is_child() {
        run_in_child("dense_timers_fire_without_descriptors");
        return;
    }
    support::net::raise_descriptor_limit();
    for runtime in [current_thread(), multi_thread(2)] {
        exhaust_descriptors();
        runtime.block_on(async {
            let sleeper =
                |n: u64| wakeful::spawn(wakeful::time::sleep(Duration::from_micros(n * 20)));
            for sleeper in (0..1000).map(sleeper).collect::<Vec<_>>() {
                sleeper.await.unwrap();
            }
        });
        drop(runtime);
    }
}
