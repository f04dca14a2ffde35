use super::subject::sync::broadcast::{self, Receiver, Sender};
use crate::support::{Line, Log, Random, shown};

async fn recv(mut rx: Receiver<usize>) -> (Receiver<usize>, String) {
    let outcome = shown(&rx.recv().await);
    (rx, outcome)
}

async fn closed(tx: Sender<usize>) {
    tx.closed().await;
}

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let capacity = 1 + random.below(5);
    let tx = if random.one_in(2) { Sender::new(capacity) } else { broadcast::channel(capacity).0 };
    let (weak, mut txs, mut rxs) = (tx.downgrade(), vec![tx], Vec::new());
    let (mut line, mut closings) = (Line::new(), Line::new());
    let step = |id| {
        let waited = match random.below(10) {
            0 | 1 => random.take(&mut rxs).and_then(|rx| line.begin(id, recv(rx))),
            2 => line.poll_one(&mut random),
            _ => None,
        };
        let outcome = match (random.below(14), txs.first()) {
            _ if waited.is_some() => {
                let (rx, outcome) = waited.expect("just seen");
                rxs.push(rx);
                outcome
            }
            (0..=3, Some(tx)) => shown(&tx.send(id)),
            (4 | 5, Some(tx)) => shown(&rxs.push(tx.subscribe())),
            (6, Some(tx)) => shown(&closings.begin(id, closed(tx.clone()))),
            (7, _) => shown(&closings.poll_one(&mut random)),
            (8, _) => {
                let another = random.pick(&mut rxs).map(|rx| rx.resubscribe());
                shown(&rxs.extend(another))
            }
            (9, _) => shown(&random.take(&mut rxs).map(drop)),
            (10 | 11, _) => shown(&random.pick(&mut rxs).map(Receiver::try_recv)),
            (12, _) => shown(&random.one_in(2).then(|| line.give_up_one(&mut random))),
            (13, _) if random.one_in(6) => shown(&txs.pop().map(drop)),
            (13, _) if random.one_in(6) => {
                let tx = weak.upgrade();
                let outcome = shown(&tx.is_some());
                txs.extend(tx);
                outcome
            }
            _ => String::new(),
        };
        let left: Vec<_> = rxs.iter().map(|rx| (rx.len(), rx.is_empty(), rx.is_closed())).collect();
        let counts =
            txs.first().map(|tx| (tx.len(), tx.is_empty(), tx.receiver_count(), tx.strong_count()));
        format!("{outcome} | {left:?} {counts:?} [{}] [{}]", line.woken(), closings.woken())
    };
    (1..150).map(step).collect()
}
