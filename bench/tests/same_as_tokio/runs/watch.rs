use super::subject::sync::watch::{self, Receiver, Sender};
use crate::support::{Line, Log, Random, shown};

async fn changed(mut rx: Receiver<usize>) -> (Receiver<usize>, String) {
    let outcome = rx.changed().await.map_err(|error| error.to_string());
    (rx, shown(&outcome))
}

async fn wait_for(mut rx: Receiver<usize>, rest: usize) -> (Receiver<usize>, String) {
    let seen = rx.wait_for(|value| value % 5 == rest).await;
    let outcome =
        shown(&seen.map(|seen| (*seen, seen.has_changed())).map_err(|error| error.to_string()));
    (rx, outcome)
}

async fn closed(tx: Sender<usize>) {
    tx.closed().await;
}

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let (tx, rx) = watch::channel(0);
    let (mut txs, mut rxs) = (vec![tx], vec![rx]);
    let (mut line, mut closings) = (Line::new(), Line::new());
    let step = |id| {
        let waited = match random.below(18) {
            0 => random.take(&mut rxs).and_then(|rx| line.begin(id, changed(rx))),
            1 => {
                let rest = random.below(5);
                random.take(&mut rxs).and_then(|rx| line.begin(id, wait_for(rx, rest)))
            }
            2 | 3 => line.poll_one(&mut random),
            _ => None,
        };
        let outcome = match (random.below(16), txs.first()) {
            _ if waited.is_some() => {
                let (rx, outcome) = waited.expect("just seen");
                rxs.push(rx);
                outcome
            }
            (0 | 1, Some(tx)) => shown(&tx.send(id)),
            (2, Some(tx)) => shown(&tx.send_replace(id)),
            (3, Some(tx)) => {
                let is_told = random.one_in(2);
                shown(&tx.send_if_modified(|value| {
                    *value += 1;
                    is_told
                }))
            }
            (4, Some(tx)) => shown(&rxs.push(tx.subscribe())),
            (5, Some(tx)) => {
                let tx = tx.clone();
                if random.one_in(2) {
                    shown(&closings.begin(id, closed(tx)))
                } else {
                    shown(&txs.push(tx))
                }
            }
            (6, _) => shown(&random.one_in(3).then(|| drop(txs.pop()))),
            (7, _) => shown(&closings.poll_one(&mut random)),
            (8, _) => {
                let clone = random.pick(&mut rxs).map(|rx| rx.clone());
                shown(&rxs.extend(clone))
            }
            (9, _) => shown(&random.take(&mut rxs).map(drop)),
            (10, _) => shown(&random.pick(&mut rxs).map(|rx| {
                let seen = rx.borrow_and_update();
                (*seen, seen.has_changed())
            })),
            (11, _) => {
                shown(&random.pick(&mut rxs).map(|rx| (*rx.borrow(), rx.borrow().has_changed())))
            }
            (12, _) => shown(&random.pick(&mut rxs).map(Receiver::mark_changed)),
            (13, _) => shown(&random.pick(&mut rxs).map(Receiver::mark_unchanged)),
            (14, _) => shown(&line.give_up_one(&mut random)),
            _ => String::new(),
        };
        let seen: Vec<_> = rxs.iter().map(|rx| (rx.has_changed().ok(), rx.is_closed())).collect();
        let counts = txs.first().map(|tx| (tx.is_closed(), tx.receiver_count(), tx.sender_count()));
        format!("{outcome} | {seen:?} {counts:?} [{}] [{}]", line.woken(), closings.woken())
    };
    (1..150).map(step).collect()
}
