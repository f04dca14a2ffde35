//! A program that has installed a handler for SIGQUIT before its first runtime.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::sleep;

static CALLS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

pub fn run(builder: &mut Builder) {
    let handler = count as extern "C" fn(libc::c_int);
    // SAFETY: `count` is a handler as `signal` wants it, and does nothing but an atomic addition,
    // which is allowed in a handler.
    unsafe { libc::signal(libc::SIGQUIT, handler as libc::sighandler_t) };
    builder.build().unwrap().block_on(async {
        println!("ready");
        let mut seen = 0;
        loop {
            sleep(Duration::from_millis(5)).await;
            while seen < CALLS.load(Ordering::SeqCst) {
                seen += 1;
                println!("tick");
            }
        }
    });
}
