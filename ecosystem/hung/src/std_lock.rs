//! A task of a `LocalSet` keeps a lock of std across an `.await`, and another one waits for it: the
//! thread that would let the first one go on is blocked.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

type Pages = Arc<Mutex<Vec<u64>>>;

#[allow(clippy::await_holding_lock)]
async fn fetch(pages: Pages) {
    let mut pages = pages.lock().unwrap();
    sleep(Duration::from_millis(50)).await;
    pages.push(1);
}

/// The fixed one takes the lock when it has the page.
async fn fetch_then_lock(pages: Pages) {
    sleep(Duration::from_millis(10)).await;
    pages.lock().unwrap().push(1);
}

async fn show(pages: Pages, seen: Rc<RefCell<usize>>) {
    sleep(Duration::from_millis(5)).await;
    *seen.borrow_mut() = pages.lock().unwrap().len();
}

pub fn hung(runtime: Runtime) {
    LocalSet::new().block_on(&runtime, async {
        let pages = Pages::default();
        println!("ready");
        let fetched = spawn_local(fetch(pages.clone()));
        let shown = spawn_local(show(pages, Rc::default()));
        fetched.await.unwrap();
        shown.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    LocalSet::new().block_on(&runtime, async {
        let pages = Pages::default();
        println!("ready");
        loop {
            let fetched = spawn_local(fetch_then_lock(pages.clone()));
            let shown = spawn_local(show(pages.clone(), Rc::default()));
            fetched.await.unwrap();
            shown.await.unwrap();
            println!("tick");
        }
    });
}
