//! The initialisation of a `OnceCell` asks for the value of the same cell.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use tokio::time::sleep;

#[derive(Default)]
struct App {
    settings: OnceCell<u64>,
}

impl App {
    async fn settings(&self) -> u64 {
        *self.settings.get_or_init(|| self.load_settings()).await
    }

    /// Reads the settings, and their parent, which is in the settings.
    fn load_settings(&self) -> BoxFuture<'_, u64> {
        async {
            println!("ready");
            self.settings().await + 1
        }
        .boxed()
    }

    async fn settings_without_parent(&self) -> u64 {
        let load = || async {
            sleep(Duration::from_millis(20)).await;
            1
        };
        *self.settings.get_or_init(load).await
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let app = Arc::new(App::default());
        println!("{}", tokio::spawn(async move { app.settings().await }).await.unwrap());
    });
}

/// One task initialises the cell, and the other one waits for that.
pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        loop {
            let app = Arc::new(App::default());
            let also = app.clone();
            let first = tokio::spawn(async move { app.settings_without_parent().await });
            let second = tokio::spawn(async move { also.settings_without_parent().await });
            assert_eq!(first.await.unwrap(), second.await.unwrap());
            println!("tick");
        }
    });
}
