//! A sitter goes in and out of its core while somebody else doubts that it is there. Two in the core at a
//! time are what loom's cell reports.

use super::*;
use crate::testing::model;
use wakeful_base::sync::{UnsafeCell, thread};

/// A seat with nothing on it but a number.
struct Case {
    sitting: Sitting,
    core: UnsafeCell<u32>,
}

// SAFETY: the protocol under test sees to it that one thread at a time uses the core; loom checks that.
unsafe impl Sync for Case {}

impl Case {
    /// A seat, and the stay of its sitter.
    fn new() -> (Arc<Case>, Arc<Stay>) {
        let case = Arc::new(Case { sitting: Sitting::new(), core: UnsafeCell::new(0) });
        let stay = Stay::new(LightFence::new(), None);
        case.sitting.sit_down(&stay);
        (case, stay)
    }

    /// A core section of `stay`'s that counts; false if the seat is lost.
    fn count(&self, stay: &Stay) -> bool {
        let begun = stay.begin_section() || self.sitting.ask(stay);
        if begun {
            self.add_one();
            stay.end_section();
        }
        begun
    }

    fn add_one(&self) {
        // SAFETY: in a section, or in doubt.
        self.core.with_mut(|core| unsafe { *core += 1 });
    }

    fn counted(&self) -> u32 {
        // SAFETY: all threads have ended.
        self.core.with(|core| unsafe { *core })
    }
}

/// Never looked behind.
fn some_task() -> TaskRef {
    TaskRef::dangling()
}

/// A poll with one section in it, and one after it. Returns how many there were.
fn poll(case: &Case, stay: &Stay) -> u32 {
    stay.begin_user_code(UserCode::Poll(some_task()));
    let inside = case.count(stay);
    stay.end_user_code();
    u32::from(inside) + u32::from(case.count(stay))
}

#[test]
fn a_sitter_that_keeps_its_seat_does_all_it_wants() {
    model(|| {
        let (case, stay) = Case::new();
        let looks = case.clone();
        let monitor = thread::spawn(move || {
            let in_doubt = looks.sitting.doubt();
            if in_doubt.is_ok() {
                looks.add_one();
            }
            u32::from(in_doubt.is_ok())
        });
        let own = poll(&case, &stay);
        assert_eq!(own, 2, "the seat was never taken");
        assert_eq!(case.counted(), own + monitor.join().unwrap());
    });
}

#[test]
fn a_seat_that_is_taken_is_one_thread_s_at_a_time() {
    model(|| {
        let (case, stay) = Case::new();
        let takes = case.clone();
        let spare = thread::spawn(move || {
            let Ok(in_doubt) = takes.sitting.doubt() else { return 0 };
            let stay = Stay::new(LightFence::new(), None);
            in_doubt.take_seat(Instant::now(), &stay);
            assert!(takes.count(&stay), "nobody takes it from the new sitter");
            1
        });
        let own = poll(&case, &stay);
        let taken = spare.join().unwrap();
        assert_eq!(case.counted(), own + taken);
        assert_eq!(stay.is_lost(), taken == 1);
        assert!(own == 2 || stay.is_lost());
    });
}

#[test]
fn a_seat_is_given_away_or_taken_but_not_both() {
    model(|| {
        let (case, stay) = Case::new();
        let takes = case.clone();
        let spare = thread::spawn(move || {
            let Ok(in_doubt) = takes.sitting.doubt() else { return false };
            in_doubt.take_seat(Instant::now(), &Stay::new(LightFence::new(), None));
            true
        });
        stay.begin_user_code(UserCode::Poll(some_task()));
        let is_given = case.sitting.stand_up(&stay);
        let is_taken = spare.join().unwrap();
        assert_ne!(is_given, is_taken);
        assert!(!case.count(&stay));
        assert_eq!(case.sitting.while_vacant(|| case.add_one()).is_some(), is_given);
    });
}

#[test]
fn a_vacant_seat_has_one_visitor_or_a_sitter() {
    model(|| {
        let (case, stay) = Case::new();
        assert!(case.sitting.stand_up(&stay));
        let visits = case.clone();
        let visitor = thread::spawn(move || visits.sitting.while_vacant(|| visits.add_one()));
        case.sitting.sit_down(&stay);
        assert!(case.count(&stay));
        let visited = visitor.join().unwrap().is_some();
        assert_eq!(case.counted(), 1 + u32::from(visited));
    });
}
