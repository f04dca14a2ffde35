//! A small server with a task that blocks its thread, for the chapter on stalls of the guide.
//!
//! `stall [current-thread]`

use std::time::Duration;
use wakeful::runtime::{Builder, Handle};
use wakeful::time::{Instant, sleep, sleep_until};

/// Reads the settings again and again, from a disk that is slow today.
async fn reload_settings() {
    loop {
        sleep(Duration::from_millis(120)).await;
        std::thread::sleep(Duration::from_millis(40)); // the read, and it blocks
    }
}

/// Answers a request every 5 ms, and returns how late the latest answer was.
async fn answer_requests() -> Duration {
    let (mut due, mut latest) = (Instant::now(), Duration::ZERO);
    for _ in 0..100 {
        due += Duration::from_millis(5);
        sleep_until(due).await;
        latest = latest.max(due.elapsed());
    }
    latest
}

fn main() -> std::io::Result<()> {
    let mut builder = match std::env::args().nth(1).as_deref() {
        Some("current-thread") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(1).enable_all().build()?.block_on(async {
        wakeful::spawn(reload_settings());
        let latest = wakeful::spawn(answer_requests()).await.unwrap();
        println!("latest answer: {} ms late", latest.as_millis());
        let metrics = Handle::current().metrics();
        let (stalls, handed_off) = (metrics.stall_count(), metrics.stall_handoff_count());
        println!("stalls: {stalls}, handed off: {handed_off}");
        println!("longest stall: {} ms", metrics.longest_stall().as_millis());
    });
    Ok(())
}
