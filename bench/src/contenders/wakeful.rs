//! Wakeful: `wakeful-mt` (multi-thread) and `wakeful-ct` (current-thread), each compared with Tokio's
//! runtime of the same flavour.

use crate::runtime::StallCounts;
use wakeful::runtime::Handle;

super::tokio_shaped::tokio_shaped!(wakeful);

pub fn multi_thread() -> Contender {
    on_workers(flavour::<true>("wakeful-mt"))
        .with(cases::crowded::stall_cases::<OnRuntime<true>>())
        .against("tokio-mt")
}

pub fn current_thread() -> Contender {
    flavour::<false>("wakeful-ct").against("tokio-ct")
}

impl StallCounts for OnRuntime<true> {
    fn stalls() -> u64 {
        Handle::current().metrics().stall_count()
    }

    fn handoffs() -> u64 {
        Handle::current().metrics().stall_handoff_count()
    }
}
