//! kameo's actors: asking, back pressure, timeouts, panics, supervision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::error::{ActorStopReason, Infallible, SendError};
use kameo::mailbox;
use kameo::message::{Context, Message};
use kameo::supervision::RestartPolicy;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

ecosystem::on_each_runtime!(
    each_of_many_askers_gets_an_answer_of_its_own,
    a_full_mailbox_makes_senders_wait,
    an_ask_times_out_and_the_actor_goes_on,
    messages_that_were_sent_before_a_stop_are_handled,
    a_panic_stops_the_actor_and_those_linked_with_it,
    a_supervisor_restarts_an_actor_that_panics,
);

/// Counts what it is sent.
#[derive(Actor)]
struct Counter(u64);

struct Add(u64);

impl Message<Add> for Counter {
    type Reply = u64;
    async fn handle(&mut self, Add(more): Add, _: &mut Context<Self, u64>) -> u64 {
        self.0 += more;
        self.0
    }
}

/// Needs a permit for each message.
#[derive(Actor)]
struct Gated {
    permits: Arc<Semaphore>,
    handled: Arc<AtomicU32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pass;

impl Message<Pass> for Gated {
    type Reply = u32;
    async fn handle(&mut self, _: Pass, _: &mut Context<Self, u32>) -> u32 {
        self.permits.acquire().await.unwrap().forget();
        self.handled.fetch_add(1, SeqCst) + 1
    }
}

impl Gated {
    fn new() -> (Gated, Arc<Semaphore>, Arc<AtomicU32>) {
        let (permits, handled) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicU32::new(0)));
        (Gated { permits: permits.clone(), handled: handled.clone() }, permits, handled)
    }
}

/// Panics when it is told to, and counts its starts.
struct Fragile;

impl Actor for Fragile {
    type Args = Arc<AtomicU32>;
    type Error = Infallible;
    async fn on_start(starts: Arc<AtomicU32>, _: ActorRef<Self>) -> Result<Self, Infallible> {
        starts.fetch_add(1, SeqCst);
        Ok(Fragile)
    }
}

struct Break;

impl Message<Break> for Fragile {
    type Reply = ();
    async fn handle(&mut self, _: Break, _: &mut Context<Self, ()>) {
        panic!("told to");
    }
}

async fn each_of_many_askers_gets_an_answer_of_its_own() {
    let counter = Counter::spawn(Counter(0));
    let asks: JoinSet<Vec<u64>> = (0..100)
        .map(|_| {
            let counter = counter.clone();
            async move {
                let mut answers = Vec::new();
                for _ in 0..50 {
                    answers.push(counter.ask(Add(1)).await.unwrap());
                }
                assert!(answers.is_sorted());
                answers
            }
        })
        .collect();
    let mut answers = asks.join_all().await.concat();
    answers.sort_unstable();
    assert_eq!(answers, (1..=5000).collect::<Vec<u64>>());
}

async fn a_full_mailbox_makes_senders_wait() {
    let (gated, permits, handled) = Gated::new();
    let actor = Gated::spawn_with_mailbox(gated, mailbox::bounded(4));
    actor.wait_for_startup().await;
    // Fills the mailbox, whether or not the actor has taken the first message out of it.
    let mut sent = 0;
    let refused = loop {
        match actor.tell(Pass).try_send() {
            Ok(()) => sent += 1,
            Err(why) => break why,
        }
        tokio::task::yield_now().await;
        assert!(sent <= 5, "{sent} messages in a mailbox of 4 and a handler");
    };
    assert_eq!(refused, SendError::MailboxFull(Pass));
    let waiting = {
        let actor = actor.clone();
        tokio::spawn(async move { actor.ask(Pass).await })
    };
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!waiting.is_finished());
    assert_eq!(handled.load(SeqCst), 0);
    permits.add_permits(100);
    assert_eq!(waiting.await.unwrap().unwrap(), sent + 1);
}

async fn an_ask_times_out_and_the_actor_goes_on() {
    let (gated, permits, _) = Gated::new();
    let actor = Gated::spawn(gated);
    let outcome = actor.ask(Pass).reply_timeout(Duration::from_millis(30)).await;
    assert!(matches!(outcome, Err(SendError::Timeout(_))), "{outcome:?}");
    permits.add_permits(2);
    // The first message is still handled.
    assert_eq!(actor.ask(Pass).await.unwrap(), 2);
}

async fn messages_that_were_sent_before_a_stop_are_handled() {
    let (gated, permits, handled) = Gated::new();
    let actor = Gated::spawn(gated);
    for _ in 0..20 {
        actor.tell(Pass).await.unwrap();
    }
    actor.stop_gracefully().await.unwrap();
    permits.add_permits(20);
    actor.wait_for_shutdown().await;
    assert_eq!(handled.load(SeqCst), 20);
    let outcome = actor.ask(Pass).await;
    assert!(matches!(outcome, Err(SendError::ActorNotRunning(Pass))), "{outcome:?}");
}

async fn a_panic_stops_the_actor_and_those_linked_with_it() {
    let starts = Arc::new(AtomicU32::new(0));
    let fragile = Fragile::spawn(starts.clone());
    let counter = Counter::spawn(Counter(0));
    let bystander = Counter::spawn(Counter(0));
    fragile.link(&counter).await;
    let outcome = fragile.ask(Break).await;
    assert!(matches!(outcome, Err(SendError::ActorStopped)), "{outcome:?}");
    let reason = fragile.wait_for_shutdown_result().await.unwrap();
    assert!(matches!(reason, ActorStopReason::Panicked(_)), "{reason:?}");
    let reason = counter.wait_for_shutdown_result().await.unwrap();
    assert!(matches!(reason, ActorStopReason::LinkDied { .. }), "{reason:?}");
    assert_eq!(bystander.ask(Add(1)).await.unwrap(), 1);
    assert_eq!(starts.load(SeqCst), 1);
}

async fn a_supervisor_restarts_an_actor_that_panics() {
    let starts = Arc::new(AtomicU32::new(0));
    let supervisor = Counter::spawn(Counter(0));
    let fragile = Fragile::supervise(&supervisor, starts.clone())
        .restart_policy(RestartPolicy::Permanent)
        .restart_limit(5, Duration::from_secs(60))
        .spawn()
        .await;
    for round in 1..=3 {
        while starts.load(SeqCst) < round {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // While it restarts, the actor may refuse the message.
        while matches!(
            fragile.ask(Break).await,
            Err(SendError::ActorRestarting(_) | SendError::ActorNotRunning(_))
        ) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    while starts.load(SeqCst) < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(supervisor.ask(Add(2)).await.unwrap(), 2);
}

/// An actor on a thread of its own waits for it with the runtime's timers and tasks, which kameo
/// allows on a multi-thread runtime only.
#[test]
fn actors_on_threads_of_their_own_may_block() {
    ecosystem::on_multi_thread(|| async {
        let all_there = Arc::new(Barrier::new(8));
        let asks: JoinSet<u32> = (0..8)
            .map(|_| {
                let all_there = all_there.clone();
                async move {
                    let (gated, permits, _) = Gated::new();
                    permits.add_permits(1);
                    let actor = Gated::spawn_in_thread(gated);
                    all_there.wait().await;
                    actor.ask(Pass).await.unwrap()
                }
            })
            .collect();
        assert_eq!(asks.join_all().await, [1; 8]);
    });
}
