use super::place::drive;
use super::subject::sync::{Notify, OnceCell, SetError};
use crate::log::Log;
use crate::pending_futures::PendingFutures;
use crate::script::Script;
use crate::scripts::once_cell::Op;
use crate::value::Value;
use std::sync::Arc;

type Got = Result<u64, u64>;

#[derive(Debug, Hash)]
enum Refused {
    IsSet,
    IsBeingSet,
}

async fn try_init(cell: Arc<OnceCell<Value>>, go: Arc<Notify>, number: u64, fails: bool) -> Got {
    let init = async || {
        go.notified().await;
        if fails { Err(number) } else { Ok(Value::new(number)) }
    };
    cell.get_or_try_init(init).await.map(|value| value.0)
}

async fn init(cell: Arc<OnceCell<Value>>, go: Arc<Notify>, number: u64, panics: bool) -> Got {
    let init = async || {
        go.notified().await;
        assert!(!panics, "on purpose");
        Value::new(number)
    };
    Ok(cell.get_or_init(init).await.0)
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let mut cell = Arc::new(OnceCell::new());
    let go = Arc::new(Notify::new());
    let mut futures = PendingFutures::default();
    let mut number = 0;
    drive(script, log, |op, log| {
        number += 1;
        let (own, own_go) = (cell.clone(), go.clone());
        let got = match op {
            Op::Turn | Op::SpendBudget { .. } => None,
            Op::GetOrTryInit { outcome, waker } => {
                futures.begin(waker, try_init(own, own_go, number, outcome % 2 == 1))
            }
            Op::GetOrInit { waker } => futures.begin(waker, init(own, own_go, number, false)),
            Op::GetOrInitPanics { waker } => futures.begin(waker, init(own, own_go, number, true)),
            Op::Poll { which, waker } => futures.poll(which, waker),
            Op::GiveUp { which } => Some(Ok(futures.give_up(which).into())),
            Op::GoOn => {
                go.notify_one();
                None
            }
            Op::Set => {
                let set = cell.set(Value::new(number)).map_err(|error| match error {
                    SetError::AlreadyInitializedError(_) => Refused::IsSet,
                    SetError::InitializingError(_) => Refused::IsBeingSet,
                });
                log.note("set", &set);
                None
            }
            Op::Take => {
                drop(own);
                log.note("taken", &Arc::get_mut(&mut cell).map(OnceCell::take));
                None
            }
        };
        log.note("got", &got);
        log.note("cell", &(cell.initialized(), cell.get().map(|value| value.0), futures.len()));
    });
}
