//! actix: actors on a system's own thread, on arbiters and on a pool of blocking threads.

use std::future::Future;
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};
use std::time::Duration;

use actix::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{self, UnboundedSender};

/// Defines a `#[test]` for each kind of runtime that a system can have.
macro_rules! on_each_system {
    ($($test:ident),* $(,)?) => {
        mod multi_thread {
            $(#[test] fn $test() { super::on_system(super::multi_thread_runtime, super::$test); })*
        }
        mod current_thread {
            $(#[test] fn $test() { super::on_system(super::current_thread_runtime, super::$test); })*
        }
    };
}

on_each_system!(
    messages_of_one_sender_are_handled_in_order,
    an_actor_on_another_arbiter_answers_many_tasks,
    an_actor_that_waits_for_a_future_handles_nothing_else,
    timers_fire_in_the_order_of_their_deadlines,
    actors_that_were_started_first_run_before_a_timer_that_is_due,
    blocking_actors_run_at_the_same_time,
    a_full_mailbox_refuses_a_message,
    a_stopped_actor_closes_its_address,
    a_supervised_actor_is_restarted,
);

fn multi_thread_runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

fn current_thread_runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs a test on a system with such a runtime, which has a thread of its own.
fn on_system<F: Future<Output = ()> + 'static>(runtime: fn() -> Runtime, test: fn() -> F) {
    ecosystem::within_limit(move || System::with_tokio_rt(runtime).block_on(test()));
}

/// Keeps what it is sent, and sends it on.
#[derive(Default)]
struct Journal {
    lines: Vec<u32>,
    copies: Option<UnboundedSender<u32>>,
}

impl Actor for Journal {
    type Context = Context<Self>;
}

impl Journal {
    fn write(&mut self, line: u32) {
        self.lines.push(line);
        if let Some(copies) = &self.copies {
            copies.send(line).unwrap();
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Write(u32);

impl Handler<Write> for Journal {
    type Result = ();
    fn handle(&mut self, Write(line): Write, _: &mut Context<Self>) {
        self.write(line);
    }
}

#[derive(Message)]
#[rtype(result = "(Vec<u32>, ThreadId)")]
struct Read;

impl Handler<Read> for Journal {
    type Result = MessageResult<Read>;
    fn handle(&mut self, _: Read, _: &mut Context<Self>) -> MessageResult<Read> {
        MessageResult((self.lines.clone(), thread::current().id()))
    }
}

/// Writes a line after a while. Handles nothing else until then, if `alone` is set.
#[derive(Message)]
#[rtype(result = "()")]
struct WriteLater {
    line: u32,
    after: Duration,
    alone: bool,
}

impl Handler<WriteLater> for Journal {
    type Result = ();
    fn handle(&mut self, later: WriteLater, context: &mut Context<Self>) {
        if later.alone {
            let sleep = async move { actix_rt::time::sleep(later.after).await };
            let write = sleep.into_actor(self).map(move |(), this, _| this.write(later.line));
            context.wait(write);
        } else {
            context.run_later(later.after, move |this, _| this.write(later.line));
        }
    }
}

async fn messages_of_one_sender_are_handled_in_order() {
    let journal = Journal::default().start();
    for line in 0..1000 {
        // Does not wait, and ignores the bound of the mailbox.
        journal.do_send(Write(line));
    }
    let (lines, thread) = journal.send(Read).await.unwrap();
    assert_eq!(lines, (0..1000).collect::<Vec<u32>>());
    assert_eq!(thread, thread::current().id());
}

async fn an_actor_on_another_arbiter_answers_many_tasks() {
    let arbiter = Arbiter::new();
    let journal = Journal::start_in_arbiter(&arbiter.handle(), |_| Journal::default());
    let tasks: Vec<_> = (0..100)
        .map(|line| {
            let journal = journal.clone();
            actix_rt::spawn(async move {
                for _ in 0..10 {
                    journal.send(Write(line)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (mut lines, thread) = journal.send(Read).await.unwrap();
    lines.sort_unstable();
    assert_eq!(lines, (0..1000).map(|n| n / 10).collect::<Vec<u32>>());
    assert_ne!(thread, thread::current().id());
    arbiter.stop();
    arbiter.join().unwrap();
    assert_eq!(journal.send(Read).await, Err(MailboxError::Closed));
}

async fn an_actor_that_waits_for_a_future_handles_nothing_else() {
    let journal = Journal::default().start();
    journal.do_send(Write(1));
    journal.do_send(WriteLater { line: 2, after: Duration::from_millis(30), alone: true });
    journal.do_send(Write(3));
    assert_eq!(journal.send(Read).await.unwrap().0, [1, 2, 3]);
}

async fn timers_fire_in_the_order_of_their_deadlines() {
    let (copies, mut written) = mpsc::unbounded_channel();
    let journal = Journal { copies: Some(copies), ..Journal::default() }.start();
    for line in [40, 10, 70] {
        let after = Duration::from_millis(line.into());
        journal.do_send(WriteLater { line, after, alone: false });
    }
    journal.do_send(Write(0));
    for line in [0, 10, 40, 70] {
        assert_eq!(written.recv().await, Some(line));
    }
}

/// actix's own tests rely on this.
async fn actors_that_were_started_first_run_before_a_timer_that_is_due() {
    let (copies, mut written) = mpsc::unbounded_channel();
    for line in 1..=10 {
        let journal = Journal { copies: Some(copies.clone()), ..Journal::default() }.start();
        journal.do_send(Write(line));
    }
    let last = Journal { copies: Some(copies), ..Journal::default() };
    last.start().do_send(WriteLater { line: 11, after: Duration::from_micros(1), alone: false });
    for line in 1..=11 {
        assert_eq!(written.recv().await, Some(line));
    }
}

async fn blocking_actors_run_at_the_same_time() {
    /// Waits until all others of the pool wait, too.
    struct Blocks(Arc<Barrier>);
    impl Actor for Blocks {
        type Context = SyncContext<Self>;
    }
    impl Handler<Read> for Blocks {
        type Result = MessageResult<Read>;
        fn handle(&mut self, _: Read, _: &mut SyncContext<Self>) -> MessageResult<Read> {
            self.0.wait();
            MessageResult((Vec::new(), thread::current().id()))
        }
    }
    let all = Arc::new(Barrier::new(4));
    let pool = SyncArbiter::start(4, move || Blocks(all.clone()));
    let requests: Vec<_> = (0..4).map(|_| actix_rt::spawn(pool.send(Read))).collect();
    let mut threads = std::collections::HashSet::new();
    for request in requests {
        threads.insert(request.await.unwrap().unwrap().1);
    }
    assert_eq!(threads.len(), 4);
}

async fn a_full_mailbox_refuses_a_message() {
    let journal = Journal::create(|context| {
        context.set_mailbox_capacity(2);
        Journal::default()
    });
    journal.do_send(WriteLater { line: 1, after: Duration::from_millis(20), alone: true });
    let mut accepted = 0;
    while journal.try_send(Write(2)).is_ok() {
        accepted += 1;
        assert!(accepted <= 3, "{accepted} messages in a mailbox of 2");
    }
    // A sender that waits gets through.
    journal.send(Write(3)).await.unwrap();
    let mut expected = vec![1];
    expected.extend(vec![2; accepted]);
    expected.push(3);
    assert_eq!(journal.send(Read).await.unwrap().0, expected);
}

async fn a_stopped_actor_closes_its_address() {
    #[derive(Message)]
    #[rtype(result = "()")]
    struct Stop;
    impl Handler<Stop> for Journal {
        type Result = ();
        fn handle(&mut self, _: Stop, context: &mut Context<Self>) {
            context.stop();
        }
    }
    let (copies, mut written) = mpsc::unbounded_channel();
    let journal = Journal { copies: Some(copies), ..Journal::default() }.start();
    // Never fires: it ends with the actor.
    journal.do_send(WriteLater { line: 1, after: Duration::from_secs(3600), alone: false });
    journal.send(Stop).await.unwrap();
    assert_eq!(written.recv().await, None);
    assert!(!journal.connected());
    assert_eq!(journal.send(Write(1)).await, Err(MailboxError::Closed));
}

async fn a_supervised_actor_is_restarted() {
    struct Restarts(UnboundedSender<&'static str>);
    impl Actor for Restarts {
        type Context = Context<Self>;
        fn started(&mut self, _: &mut Context<Self>) {
            self.0.send("started").unwrap();
        }
    }
    impl Supervised for Restarts {
        fn restarting(&mut self, _: &mut Context<Self>) {
            self.0.send("restarting").unwrap();
        }
    }
    impl Handler<Write> for Restarts {
        type Result = ();
        fn handle(&mut self, _: Write, context: &mut Context<Self>) {
            self.0.send("stops").unwrap();
            context.stop();
        }
    }
    let (sender, mut events) = mpsc::unbounded_channel();
    let actor = Supervisor::start(move |_| Restarts(sender));
    for _ in 0..3 {
        actor.send(Write(0)).await.unwrap();
    }
    for event in ["started", "stops", "restarting"].repeat(3) {
        assert_eq!(events.recv().await, Some(event));
    }
}
