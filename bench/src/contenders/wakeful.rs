//! Wakeful: `wakeful-mt` (multi-thread) and `wakeful-ct` (current-thread), each compared
//! with Tokio's runtime of the same flavour.

super::tokio_shaped::tokio_shaped!(wakeful);

pub fn multi_thread() -> Contender {
    on_workers(flavour::<true>("wakeful-mt")).against("tokio-mt")
}

pub fn current_thread() -> Contender {
    flavour::<false>("wakeful-ct").against("tokio-ct")
}
