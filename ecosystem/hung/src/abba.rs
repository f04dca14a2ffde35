//! Two transfers lock the same two accounts, each the other one first.
//!
//! Detection of this in async code is what lockbud issue 118 asks for.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Barrier, Mutex};
use tokio::time::sleep;

type Account = Arc<Mutex<i64>>;

/// Moves `amount` to another account. Both transfers hold their source when they lock the target.
async fn transfer(from: Account, to: Account, amount: i64, both_started: Arc<Barrier>) {
    let mut source = from.lock().await;
    if both_started.wait().await.is_leader() {
        println!("ready");
    }
    let mut target = to.lock().await;
    *source -= amount;
    *target += amount;
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let (alice, bob) = (Account::default(), Account::default());
        let both_started = Arc::new(Barrier::new(2));
        let pay = tokio::spawn(transfer(alice.clone(), bob.clone(), 30, both_started.clone()));
        let pay_back = tokio::spawn(transfer(bob, alice, 20, both_started));
        pay.await.unwrap();
        pay_back.await.unwrap();
    });
}

/// Moves `amount` again and again, and always locks the account of the lower number first.
async fn transfer_in_order(first: Account, second: Account, amount: i64) {
    loop {
        let mut first = first.lock().await;
        sleep(Duration::from_millis(10)).await;
        let mut second = second.lock().await;
        *first -= amount;
        *second += amount;
        println!("tick");
    }
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let (alice, bob) = (Account::default(), Account::default());
        let pay = tokio::spawn(transfer_in_order(alice.clone(), bob.clone(), 30));
        let pay_back = tokio::spawn(transfer_in_order(alice, bob, -20));
        println!("ready");
        pay.await.unwrap();
        pay_back.await.unwrap();
    });
}
