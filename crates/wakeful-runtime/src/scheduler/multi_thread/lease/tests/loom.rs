//! A holder enters and leaves core sections while another thread suspends or revokes its lease.
//! Loom's cell reports two threads in the core at the same time.

use super::*;
use crate::testing::{large_model, model};
use wakeful_base::sync::{UnsafeCell, thread};

/// A worker whose core is just a number.
struct Case {
    lease_slot: LeaseSlot,
    core: UnsafeCell<u32>,
}

// SAFETY: the protocol under test lets one thread at a time use the core; loom checks that it does.
unsafe impl Sync for Case {}

impl Case {
    /// Creates a worker, and the lease of its holder.
    fn new() -> (Arc<Case>, Arc<Lease>) {
        let case = Arc::new(Case { lease_slot: LeaseSlot::new(), core: UnsafeCell::new(0) });
        let lease = Lease::new(LightFence::new(), None);
        case.lease_slot.acquire(&lease);
        (case, lease)
    }

    /// Increments the core in a section of `lease`. Returns false if the lease is lost.
    fn count_in_section(&self, lease: &Lease) -> bool {
        let begun = lease.begin_section() || self.lease_slot.confirm(lease);
        if begun {
            self.increment();
            lease.end_section();
        }
        begun
    }

    fn increment(&self) {
        // SAFETY: the caller is in a section, has suspended the lease, or keeps the worker vacant.
        self.core.with_mut(|core| unsafe { *core += 1 });
    }

    fn counted(&self) -> u32 {
        // SAFETY: all threads have ended.
        self.core.with(|core| unsafe { *core })
    }
}

/// A task pointer that is never dereferenced.
fn some_task() -> TaskRef {
    TaskRef::dangling()
}

/// A poll with one section in it and one after it. Returns how many of the two began.
fn poll(case: &Case, lease: &Lease) -> u32 {
    lease.begin_user_code(UserCode::Poll(some_task()));
    let in_section = case.count_in_section(lease);
    lease.end_user_code();
    u32::from(in_section) + u32::from(case.count_in_section(lease))
}

#[test]
fn a_suspended_lease_that_is_not_revoked_loses_no_section() {
    model(|| {
        let (case, lease) = Case::new();
        let shared = case.clone();
        let monitor = thread::spawn(move || {
            let suspended = shared.lease_slot.suspend();
            if suspended.is_ok() {
                shared.increment();
            }
            u32::from(suspended.is_ok())
        });
        let own = poll(&case, &lease);
        assert_eq!(own, 2, "the lease was not revoked");
        assert_eq!(case.counted(), own + monitor.join().unwrap());
    });
}

#[test]
fn take_over_gives_the_core_to_one_thread_at_a_time() {
    model(|| {
        let (case, lease) = Case::new();
        let shared = case.clone();
        let standby = thread::spawn(move || {
            let Ok(suspended) = shared.lease_slot.suspend() else { return 0 };
            let lease = Lease::new(LightFence::new(), None);
            suspended.take_over(Instant::now(), &lease);
            assert!(shared.count_in_section(&lease), "no thread revokes the new lease");
            1
        });
        let own = poll(&case, &lease);
        let taken = standby.join().unwrap();
        assert_eq!(case.counted(), own + taken);
        assert_eq!(lease.is_revoked(), taken == 1);
        assert!(own == 2 || lease.is_revoked());
    });
}

/// The monitor inspects two workers with one fence, while their holders run.
#[test]
fn one_fence_suspends_several_leases() {
    large_model(|| {
        let cases = [Case::new(), Case::new()];
        let inspected = cases.each_ref().map(|(case, _)| case.clone());
        let monitor = thread::spawn(move || {
            let slots = inspected.iter().map(|case| &case.lease_slot);
            let suspended = suspend_all(slots).expect("the fence is never refused");
            suspended
                .into_iter()
                .zip(&inspected)
                .map(|(suspended, case)| {
                    if suspended.is_some() {
                        case.increment();
                    }
                    u32::from(suspended.is_some())
                })
                .collect::<Vec<_>>()
        });
        let [(first, first_lease), (second, second_lease)] = cases;
        let holder = {
            let first = first.clone();
            thread::spawn(move || poll(&first, &first_lease))
        };
        assert_eq!(poll(&second, &second_lease), 2, "no lease was revoked");
        assert_eq!(holder.join().unwrap(), 2, "no lease was revoked");
        let inspections = monitor.join().unwrap();
        assert_eq!(first.counted(), 2 + inspections[0]);
        assert_eq!(second.counted(), 2 + inspections[1]);
    });
}

/// While the monitor has two leases suspended, a standby thread tries to take one worker over.
#[test]
fn take_over_races_with_a_suspension_of_several_leases() {
    large_model(|| {
        let [(first, first_lease), (second, second_lease)] = [Case::new(), Case::new()];
        for lease in [&first_lease, &second_lease] {
            lease.begin_user_code(UserCode::Poll(some_task()));
        }
        let standby = {
            let second = second.clone();
            thread::spawn(move || {
                let Ok(suspended) = second.lease_slot.suspend() else { return 0 };
                let lease = Lease::new(LightFence::new(), None);
                suspended.take_over(Instant::now(), &lease);
                assert!(second.count_in_section(&lease), "no thread revokes the new lease");
                1
            })
        };
        let slots = [&first.lease_slot, &second.lease_slot];
        let suspended = suspend_all(slots.into_iter()).expect("the fence is never refused");
        let mut inspections = [0, 0];
        for (index, (suspended, case)) in suspended.into_iter().zip([&first, &second]).enumerate() {
            if suspended.is_some() {
                case.increment();
                inspections[index] = 1;
            }
        }
        let taken = standby.join().unwrap();
        assert_eq!(taken, 1, "the holder is in user code throughout");
        assert_eq!(first.counted(), 1);
        assert_eq!(second.counted(), inspections[1] + taken);
        assert!(first.count_in_section(&first_lease) && !second.count_in_section(&second_lease));
    });
}

#[test]
fn a_lease_is_released_or_revoked_but_not_both() {
    model(|| {
        let (case, lease) = Case::new();
        let shared = case.clone();
        let standby = thread::spawn(move || {
            let Ok(suspended) = shared.lease_slot.suspend() else { return false };
            suspended.take_over(Instant::now(), &Lease::new(LightFence::new(), None));
            true
        });
        lease.begin_user_code(UserCode::Poll(some_task()));
        let is_released = case.lease_slot.release(&lease);
        let is_taken = standby.join().unwrap();
        assert_ne!(is_released, is_taken);
        assert!(!case.count_in_section(&lease));
        assert_eq!(case.lease_slot.while_vacant(|| case.increment()).is_some(), is_released);
    });
}

#[test]
fn while_vacant_excludes_a_new_holder() {
    model(|| {
        let (case, lease) = Case::new();
        assert!(case.lease_slot.release(&lease));
        let shared = case.clone();
        let visitor = thread::spawn(move || shared.lease_slot.while_vacant(|| shared.increment()));
        case.lease_slot.acquire(&lease);
        assert!(case.count_in_section(&lease));
        let visited = visitor.join().unwrap().is_some();
        assert_eq!(case.counted(), 1 + u32::from(visited));
    });
}
