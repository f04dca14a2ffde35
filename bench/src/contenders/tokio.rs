//! Tokio, the baseline: `tokio-mt` (multi-thread) and `tokio-ct` (current-thread).

super::tokio_shaped::tokio_shaped!(tokio);

pub fn multi_thread() -> Contender {
    on_workers(flavour::<true>("tokio-mt"))
}

pub fn current_thread() -> Contender {
    flavour::<false>("tokio-ct").against("tokio-mt")
}
