//! A task of a `LocalSet` holds a lock, and the set is not polled while its owner waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Mutex, oneshot};
use tokio::task::LocalSet;
use tokio::time::sleep;

type Page = Arc<Mutex<String>>;

async fn render(page: Page, is_locked: oneshot::Sender<()>) {
    let mut page = page.lock().await;
    is_locked.send(()).unwrap();
    sleep(Duration::from_millis(10)).await;
    page.push_str("<html>");
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let page = Page::default();
        let local = LocalSet::new();
        let (is_locked, locked) = oneshot::channel();
        local.spawn_local(render(page.clone(), is_locked));
        local.run_until(locked).await.unwrap();
        println!("ready");
        println!("{}", page.lock().await);
        local.await;
    });
}

/// The fixed one waits for the lock inside of the set.
pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let local = LocalSet::new();
        println!("ready");
        loop {
            let page = Page::default();
            let (is_locked, locked) = oneshot::channel();
            local.spawn_local(render(page.clone(), is_locked));
            local.run_until(locked).await.unwrap();
            assert_eq!(local.run_until(page.lock()).await.as_str(), "<html>");
            println!("tick");
        }
    });
}
