//! Signals with any number of listeners, in any number of runtimes. Signals are global to the
//! process, so each test uses its own.

mod support;

use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Instant;
use support::signals::send_signal;
use support::{current_thread, each_flavor, multi_thread, panic_of, stress_time};
use wakeful::runtime::{Builder, Runtime, is_rt_shutdown_err};
use wakeful::signal::ctrl_c;
use wakeful::signal::unix::{Signal, SignalKind, signal};

/// Returns a kind of signal. Each test passes a number that no other test uses.
fn own_kind(number: i32) -> SignalKind {
    SignalKind::from_raw(libc::SIGRTMIN() + number)
}

fn send(kind: SignalKind) {
    send_signal(kind.as_raw_value());
}

/// Returns whether `listener` has a signal pending, and receives it.
fn has_signal(listener: &mut Signal) -> bool {
    listener.poll_recv(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn every_kind_with_a_name_is_received() {
    let kinds = [
        (SignalKind::alarm(), libc::SIGALRM),
        (SignalKind::child(), libc::SIGCHLD),
        (SignalKind::hangup(), libc::SIGHUP),
        (SignalKind::io(), libc::SIGIO),
        (SignalKind::pipe(), libc::SIGPIPE),
        (SignalKind::quit(), libc::SIGQUIT),
        (SignalKind::terminate(), libc::SIGTERM),
        (SignalKind::user_defined1(), libc::SIGUSR1),
        (SignalKind::user_defined2(), libc::SIGUSR2),
        (SignalKind::window_change(), libc::SIGWINCH),
    ];
    for runtime in each_flavor() {
        runtime.block_on(async {
            for (kind, number) in kinds {
                assert_eq!((kind, i32::from(kind)), (SignalKind::from(number), number));
                let mut listener = signal(kind).unwrap();
                send_signal(number);
                assert_eq!(listener.recv().await, Some(()));
            }
        });
    }
}

#[test]
fn ctrl_c_is_received_from_when_it_is_first_polled() {
    assert_eq!(SignalKind::interrupt().as_raw_value(), libc::SIGINT);
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut pressed = pin!(ctrl_c());
            assert!(poll_fn(|cx| Poll::Ready(pressed.as_mut().poll(cx))).await.is_pending());
            wakeful::spawn(async { send(SignalKind::interrupt()) });
            pressed.await.unwrap();
        });
    }
}

#[test]
fn each_listener_receives_every_signal_once() {
    let kind = own_kind(0);
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut listeners: Vec<_> = (0..100).map(|_| signal(kind).unwrap()).collect();
            for _ in 0..3 {
                send(kind);
                for listener in &mut listeners {
                    listener.recv().await;
                }
                assert!(!listeners.iter_mut().any(has_signal));
            }
            // Dropping half of the listeners does not affect the others.
            listeners.truncate(50);
            send(kind);
            for listener in &mut listeners {
                listener.recv().await;
            }
        });
    }
}

#[test]
fn listeners_of_many_runtimes_receive_every_signal() {
    const RUNTIMES: usize = 8;
    const ROUNDS: usize = 50;
    let kind = own_kind(1);
    let (ready, is_ready) = mpsc::channel();
    let threads: Vec<_> = (0..RUNTIMES)
        .map(|number| {
            let ready = ready.clone();
            thread::spawn(move || {
                let runtime = if number % 2 == 0 { current_thread() } else { multi_thread(2) };
                runtime.block_on(async {
                    let tasks: Vec<_> = (0..3)
                        .map(|_| {
                            let mut listener = signal(kind).unwrap();
                            let ready = ready.clone();
                            wakeful::spawn(async move {
                                for _ in 0..ROUNDS {
                                    ready.send(()).unwrap();
                                    listener.recv().await;
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
            })
        })
        .collect();
    for _ in 0..ROUNDS {
        // Wait until all listeners are in the same round, so that each receives this signal in one
        // round only.
        (0..3 * RUNTIMES).for_each(|_| is_ready.recv().unwrap());
        send(kind);
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_cancelled_recv_loses_no_signal() {
    let kind = own_kind(2);
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut listener = signal(kind).unwrap();
            for _ in 0..10 {
                {
                    let mut given_up = pin!(listener.recv());
                    let polled = poll_fn(|cx| Poll::Ready(given_up.as_mut().poll(cx))).await;
                    assert!(polled.is_pending());
                    send(kind);
                }
                listener.recv().await;
                assert!(!has_signal(&mut listener));
            }
        });
    }
}

#[test]
fn a_listener_outlives_its_runtime() {
    let kind = own_kind(3);
    for runtime in each_flavor() {
        let mut listener = runtime.block_on(async { signal(kind).unwrap() });
        drop(runtime);
        for other in each_flavor() {
            send(kind);
            other.block_on(listener.recv());
        }
    }
}

#[test]
fn any_running_runtime_delivers_to_a_listener() {
    let kind = own_kind(4);
    let at_rest = current_thread();
    let mut listener = at_rest.block_on(async { signal(kind).unwrap() });
    send(kind);
    current_thread().block_on(listener.recv());

    // Poll without a runtime on this thread, while a runtime runs elsewhere.
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let _at_work = multi_thread(1);
    send(kind);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    while listener.poll_recv(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
}

#[test]
fn a_signal_without_listeners_is_ignored() {
    // The default action of all these signals ends the process.
    for kind in [own_kind(5), SignalKind::from_raw(libc::SIGXCPU)] {
        let runtime = current_thread();
        drop(runtime.block_on(async { signal(kind).unwrap() }));
        send(kind);
        drop(runtime);
        send(kind);
    }
}

#[test]
fn a_blocked_worker_does_not_delay_signals() {
    let kind = own_kind(6);
    let runtime = multi_thread(2);
    let (done, is_done) = mpsc::channel::<()>();
    let blocked = runtime.spawn(async move { is_done.recv().unwrap_err() });
    runtime.block_on(async {
        let mut listener = signal(kind).unwrap();
        for _ in 0..10 {
            send(kind);
            listener.recv().await;
        }
    });
    drop(done);
    runtime.block_on(blocked).unwrap();
}

/// Repeats `work` for a while, during which another thread keeps sending signals of `kind`.
fn while_signals_come(kind: SignalKind, mut work: impl FnMut()) {
    // Install the handler before the first signal, which would otherwise end the process.
    drop(current_thread().block_on(async { signal(kind).unwrap() }));
    let is_over = Arc::new(AtomicBool::new(false));
    let sender = {
        let is_over = is_over.clone();
        thread::spawn(move || {
            while !is_over.load(SeqCst) {
                send(kind);
                thread::yield_now();
            }
        })
    };
    let deadline = Instant::now() + stress_time();
    while Instant::now() < deadline {
        work();
    }
    is_over.store(true, SeqCst);
    sender.join().unwrap();
}

#[test]
fn listeners_are_created_and_dropped_while_signals_arrive() {
    let kind = own_kind(7);
    let runtime = multi_thread(4);
    while_signals_come(kind, || {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..50)
                .map(|number| {
                    wakeful::spawn(async move {
                        let mut listener = signal(kind).unwrap();
                        for _ in 0..number % 4 {
                            listener.recv().await;
                        }
                        // Drops a listener that has registered its waker.
                        poll_fn(|cx| Poll::Ready(listener.poll_recv(cx))).await
                    })
                })
                .collect();
            for task in tasks {
                let _either = task.await.unwrap();
            }
        });
    });
}

#[test]
fn runtimes_are_created_and_dropped_while_signals_arrive() {
    let kind = own_kind(8);
    let mut kept = current_thread().block_on(async { signal(kind).unwrap() });
    while_signals_come(kind, || {
        for runtime in each_flavor() {
            let mut listener = runtime.block_on(async { signal(kind).unwrap() });
            runtime.spawn(async move { while listener.recv().await.is_some() {} });
            runtime.block_on(kept.recv());
        }
    });
}

#[test]
fn another_runtimes_driver_wakes_a_listener() {
    let kind = own_kind(9);
    let (waiting, is_waiting) = mpsc::channel();
    // The listener's own driver never runs: its thread runs the other runtime.
    let home = current_thread();
    let mut listener = home.block_on(async { signal(kind).unwrap() });
    let thread = thread::spawn(move || {
        current_thread().block_on(async {
            for _ in 0..20 {
                let mut received = pin!(listener.recv());
                let polled = poll_fn(|cx| Poll::Ready(received.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
                waiting.send(()).unwrap();
                received.await;
            }
        });
    });
    while is_waiting.recv().is_ok() {
        send(kind);
    }
    thread.join().unwrap();
}

#[test]
fn listening_for_an_invalid_signal_is_an_error() {
    current_thread().block_on(async {
        for number in
            [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, libc::SIGILL, libc::SIGFPE, 0, -1, 1000]
        {
            let error = signal(SignalKind::from_raw(number)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Other, "{number}");
        }
    });
}

#[test]
fn without_io_or_a_runtime_signal_panics() {
    let listen = || drop(signal(own_kind(10)));
    let (text, file) = panic_of(listen);
    assert_eq!(file, file!());
    assert!(
        text.contains("`signal` called") && text.contains("no runtime on this thread"),
        "{text}"
    );

    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder.build().unwrap();
        let (text, file) = runtime.block_on(async { panic_of(listen) });
        assert_eq!(file, file!());
        assert!(text.contains("`signal` called") && text.contains("`enable_io`"), "{text}");
        let polled = AssertUnwindSafe(|| drop(runtime.block_on(ctrl_c())));
        assert!(panic_of(polled).0.contains("`enable_io`"));
        builder.enable_io();
        assert!(builder.build().unwrap().block_on(async { signal(own_kind(10)).is_ok() }));
    }
}

#[test]
fn after_a_shutdown_signal_fails() {
    for runtime in each_flavor() {
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        assert!(is_rt_shutdown_err(&signal(own_kind(11)).unwrap_err()));
    }
}

#[test]
fn the_types_are_send_and_sync() {
    fn is_send_sync_unpin<T: Send + Sync + Unpin>(_: &T) {}
    fn is_send_sync<T: Send + Sync>(_: &T) {}
    let runtime: Runtime = current_thread();
    let mut listener = runtime.block_on(async { signal(own_kind(12)).unwrap() });
    is_send_sync_unpin(&listener);
    is_send_sync_unpin(&own_kind(12));
    is_send_sync(&listener.recv());
    is_send_sync(&ctrl_c());
}
