//! Channels: each message that was sent is received exactly once.

use std::time::Duration;
use wakeful::select;
use wakeful::sync::{broadcast, mpsc, oneshot, watch};
use wakeful::task::yield_now;
use wakeful::time::{sleep, timeout};
use wakeful_torture::rng::Rng;

use crate::scene::{Scene, join, join_all, moment};
use crate::sums::{Pair, SUMS, Token, finding, note};

const SENDERS: usize = 6;
const MESSAGES: u64 = 200;
const RECEIVERS: usize = 4;

/// Uses bounded channels, one after the other, until the scene ends.
pub async fn mpsc(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let (tx, rx) = mpsc::channel(1 + rng.below(40));
        let senders: Vec<_> =
            (0..SENDERS).map(|_| scene.spawn(sender(tx.clone(), rng.fork()))).collect();
        drop(tx);
        let receiver = scene.spawn(receive(rx, rng.fork()));
        if rng.chance(300) {
            sleep(moment(&mut rng, 1000)).await;
            // The aborted sender has counted all messages that it sent.
            senders[0].abort();
        }
        join_all(senders).await;
        join(receiver).await;
    }
}

async fn sender(tx: mpsc::Sender<Token>, mut rng: Rng) {
    for _ in 0..rng.below(MESSAGES as usize) {
        let id = rng.next_u64() >> 32;
        let token = Token::new(id);
        let sent = match rng.below(5) {
            // A send that is dropped has sent nothing.
            0 => {
                let limit = moment(&mut rng, 200);
                select! {
                    sent = tx.send(token) => sent.is_ok(),
                    () = sleep(limit) => false,
                }
            }
            1 => tx.send_timeout(token, Duration::from_micros(100)).await.is_ok(),
            2 => match tx.reserve().await {
                Ok(permit) => {
                    permit.send(token);
                    true
                }
                Err(_) => false,
            },
            3 => tx.try_send(token).is_ok(),
            _ => tx.send(token).await.is_ok(),
        };
        match sent {
            true => {
                SUMS.left(Pair::Mpsc, 1);
                SUMS.left(Pair::MpscIds, id);
            }
            false => note("messages not sent"),
        }
    }
}

async fn receive(mut rx: mpsc::Receiver<Token>, mut rng: Rng) {
    loop {
        let tokens = match rng.below(3) {
            0 => {
                let mut tokens = Vec::new();
                rx.recv_many(&mut tokens, 10).await;
                tokens
            }
            // A receive that is dropped has received nothing.
            1 => match timeout(moment(&mut rng, 200), rx.recv()).await {
                Ok(token) => token.into_iter().collect(),
                Err(_) => continue,
            },
            _ => rx.recv().await.into_iter().collect(),
        };
        if tokens.is_empty() {
            return;
        }
        for token in tokens {
            SUMS.right(Pair::Mpsc, 1);
            SUMS.right(Pair::MpscIds, token.id);
        }
    }
}

/// Checks that messages of each sender arrive in order.
pub async fn unbounded(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (tx, pauses) = (tx.clone(), rng.below(50) as u64);
                scene.spawn(async move {
                    for number in 0..MESSAGES {
                        if tx.send((sender, Token::new(number))).is_ok() {
                            SUMS.left(Pair::Unbounded, 1);
                        }
                        if number % 50 == pauses {
                            yield_now().await;
                        }
                    }
                })
            })
            .collect();
        drop(tx);
        let mut next = [0; SENDERS];
        while let Some((sender, token)) = rx.recv().await {
            if token.id != next[sender] {
                finding(format!("sender {sender}: message {} after {}", token.id, next[sender]));
            }
            next[sender] = token.id + 1;
            SUMS.right(Pair::Unbounded, 1);
        }
        join_all(senders).await;
    }
}

/// Sends a question and waits for the answer, sometimes not long enough.
pub async fn oneshots(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let (tx, rx) = oneshot::channel();
        let (id, late) = (rng.next_u64(), moment(&mut rng, 300));
        let is_late = rng.chance(300);
        SUMS.left(Pair::Oneshots, 1);
        let answering = scene.spawn(async move {
            if is_late {
                sleep(late).await;
            }
            if tx.send(Token::new(id)).is_err() {
                note("answers that nothing waited for");
            }
        });
        if rng.chance(100) {
            answering.abort();
        }
        match timeout(moment(&mut rng, 400), rx).await {
            Ok(Ok(token)) if token.id != id => finding("the answer to another question"),
            Ok(Ok(_)) => {}
            Ok(Err(_)) => note("questions whose answer was aborted"),
            Err(_) => note("questions given up"),
        }
        SUMS.right(Pair::Oneshots, 1);
        join(answering).await;
    }
}

/// Checks that each receiver gets each value, or learns how many it missed.
pub async fn broadcasts(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let tx = broadcast::Sender::new(1 + rng.below(60));
        let receivers: Vec<_> = (0..RECEIVERS)
            .map(|_| {
                let (mut rx, mut rng) = (tx.subscribe(), rng.fork());
                scene.spawn(async move {
                    loop {
                        match rx.recv().await {
                            Ok(token) => drop::<Token>(token),
                            Err(broadcast::error::RecvError::Lagged(missed)) => {
                                SUMS.right(Pair::Broadcast, missed);
                                continue;
                            }
                            Err(broadcast::error::RecvError::Closed) => return,
                        }
                        SUMS.right(Pair::Broadcast, 1);
                        if rng.chance(20) {
                            sleep(moment(&mut rng, 300)).await;
                        }
                    }
                })
            })
            .collect();
        for number in 0..MESSAGES {
            if let Ok(count) = tx.send(Token::new(number)) {
                SUMS.left(Pair::Broadcast, count as u64);
            }
            if number % 16 == 0 {
                yield_now().await;
            }
        }
        drop(tx);
        join_all(receivers).await;
    }
}

/// Checks that values arrive in order, and that each receiver sees the last.
pub async fn watches(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let (tx, rx) = watch::channel(Token::new(0));
        let receivers: Vec<_> = (0..RECEIVERS)
            .map(|_| {
                let mut rx = rx.clone();
                scene.spawn(async move {
                    let mut last = 0;
                    while rx.changed().await.is_ok() {
                        let now = rx.borrow_and_update().id;
                        if now < last {
                            finding(format!("watch: {now} after {last}"));
                        }
                        last = now;
                    }
                    if rx.borrow().id == MESSAGES && last == MESSAGES {
                        SUMS.right(Pair::Watch, 1);
                    }
                })
            })
            .collect();
        drop(rx);
        SUMS.left(Pair::Watch, RECEIVERS as u64);
        for number in 1..=MESSAGES {
            tx.send_replace(Token::new(number));
            if rng.chance(200) {
                yield_now().await;
            }
        }
        drop(tx);
        join_all(receivers).await;
    }
}
