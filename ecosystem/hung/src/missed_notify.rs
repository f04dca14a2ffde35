//! `notify_waiters` is called before the task that it is for waits.
//!
//! ttrpc-rust pull request 227 and mdk issue 764 are such cases; Tokio issue 6952 asks about it.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::sleep;

#[derive(Default)]
struct Server {
    stop: Notify,
}

impl Server {
    /// Ends when the server is stopped, unless that happens while it starts.
    async fn serve(&self) {
        sleep(Duration::from_millis(20)).await;
        println!("ready");
        self.stop.notified().await;
    }

    /// The fixed one listens before it starts.
    async fn serve_all_along(&self) {
        let stopped = self.stop.notified();
        sleep(Duration::from_millis(20)).await;
        stopped.await;
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let server = Arc::new(Server::default());
        let serves = server.clone();
        let task = tokio::spawn(async move { serves.serve().await });
        server.stop.notify_waiters();
        task.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        loop {
            let server = Arc::new(Server::default());
            let serves = server.clone();
            let task = tokio::spawn(async move { serves.serve_all_along().await });
            sleep(Duration::from_millis(10)).await;
            server.stop.notify_waiters();
            task.await.unwrap();
            println!("tick");
        }
    });
}
