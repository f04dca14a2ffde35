//! Where a task was spawned, and when it was scheduled.

use super::home::{ENDINGS, TestHome};
use crate::Header;

#[test]
fn the_time_at_which_a_task_is_scheduled_is_kept_if_asked_for() {
    for ending in ENDINGS {
        let home = TestHome::new();
        let (runnable, join) = home.task(async {});
        let site = runnable.spawned_at();
        runnable.note_scheduled(1);
        assert_eq!(runnable.scheduled_at_ns(), None);

        runnable.keep_times();
        runnable.note_scheduled(2);
        runnable.keep_times();
        assert_eq!(runnable.scheduled_at_ns(), Some(2));
        runnable.note_scheduled(3);
        assert_eq!(runnable.scheduled_at_ns(), Some(3));
        assert!(std::ptr::eq(runnable.spawned_at(), site));
        assert!(format!("{:?}", &*runnable).contains("kept.rs"), "{:?}", &*runnable);
        home.run(runnable, ending);
        drop(join);
        home.assert_all_freed();
    }
}

// Miri has no /proc/self/mem.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_copy_of_a_header_knows_where_the_task_was_spawned() {
    for keeps_times in [false, true] {
        let home = TestHome::new();
        let (runnable, join) = home.task(async {});
        if keeps_times {
            runnable.keep_times();
        }
        let copy = Header::copy_of(runnable.task()).expect("the task is alive");
        // SAFETY: the queue entry keeps the task alive.
        let (id, site) = unsafe { copy.id_and_site() };
        assert_eq!(id, runnable.id().as_u64());
        assert!(std::ptr::eq(site, runnable.spawned_at()));
        home.end(runnable.cancel(), ENDINGS[0]);
        drop(join);
        home.assert_all_freed();
    }
}
