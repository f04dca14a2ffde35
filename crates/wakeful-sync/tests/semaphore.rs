//! Tests of [`Semaphore`]: fairness, exact counts, cancellation and panics at any point.

mod support;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use support::{
    Random, manual, panicking_waker, release_many_that_panic, stress, waker_with_hostile_clones,
};
use wakeful_base::enter::{Entered, set_entered};
use wakeful_base::{block_on, budget};
use wakeful_sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

#[test]
fn permits_are_taken_and_given_back() {
    let semaphore = Semaphore::new(3);
    let two = semaphore.try_acquire_many(2).unwrap();
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!(semaphore.try_acquire_many(2).unwrap_err(), TryAcquireError::NoPermits);
    let one = manual(semaphore.acquire()).ready().unwrap();
    assert_eq!(semaphore.available_permits(), 0);
    drop((one, two));
    assert_eq!(semaphore.available_permits(), 3);
}

#[test]
fn waiters_are_served_in_request_order() {
    let semaphore = Semaphore::new(0);
    let mut first = manual(semaphore.acquire());
    let mut second = manual(semaphore.acquire());
    first.pending();
    second.pending();
    semaphore.add_permits(1);
    assert!(first.is_woken() && !second.is_woken());
    second.pending();
    let _permit = first.ready().unwrap();
    semaphore.add_permits(1);
    let _permit = second.ready().unwrap();
}

#[test]
fn large_requests_are_not_overtaken_by_small_ones() {
    let semaphore = Semaphore::new(2);
    let mut many = manual(semaphore.acquire_many(3));
    many.pending();
    assert_eq!(semaphore.available_permits(), 0, "the first in line has all there is");
    let mut few = manual(semaphore.acquire());
    few.pending();
    assert!(semaphore.try_acquire().is_err());
    semaphore.add_permits(1);
    let many = many.ready().unwrap();
    few.pending();
    drop(many);
    let _few = few.ready().unwrap();
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_dropped_waiter_passes_its_permits_on() {
    let semaphore = Semaphore::new(2);
    let mut many = manual(semaphore.acquire_many(4));
    many.pending();
    let mut next = manual(semaphore.acquire_many(2));
    next.pending();
    drop(many);
    assert!(next.is_woken());
    drop(next.ready().unwrap());
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_granted_permit_goes_back_if_the_future_is_dropped() {
    let semaphore = Semaphore::new(0);
    let mut first = manual(semaphore.acquire());
    let mut second = manual(semaphore.acquire());
    first.pending();
    second.pending();
    semaphore.add_permits(1);
    assert!(first.is_woken());
    drop(first);
    assert!(second.is_woken());
    second.ready().unwrap().forget();
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn acquiring_zero_permits_never_waits() {
    let semaphore = Semaphore::new(0);
    let none = manual(semaphore.acquire_many(0)).ready().unwrap();
    assert_eq!(none.num_permits(), 0);
    drop(none);
    semaphore.add_permits(0);
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn close_wakes_all_waiters() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().unwrap();
    let mut waiting: Vec<_> = (0..100).map(|_| manual(semaphore.acquire_many(2))).collect();
    waiting.iter_mut().for_each(|w| w.pending());
    semaphore.close();
    semaphore.close();
    assert!(semaphore.is_closed());
    for waiter in &mut waiting {
        assert_eq!(waiter.wakes(), 1);
        assert_eq!(waiter.ready().unwrap_err().to_string(), "semaphore closed");
    }
    drop(held);
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    assert!(manual(semaphore.acquire()).ready().is_err());
}

#[test]
fn a_grant_not_seen_before_close_is_an_error_and_goes_back() {
    let semaphore = Semaphore::new(0);
    let mut waiter = manual(semaphore.acquire());
    waiter.pending();
    semaphore.add_permits(1);
    semaphore.close();
    assert!(waiter.ready().is_err());
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn the_waker_of_the_last_poll_is_called() {
    let semaphore = Semaphore::new(0);
    let mut waiter = manual(semaphore.acquire());
    waiter.pending();
    assert!(waiter.poll_with(std::task::Waker::noop()).is_pending());
    semaphore.add_permits(1);
    assert!(!waiter.is_woken());
    let mut waiter = manual(semaphore.acquire_many(2));
    assert!(waiter.poll_with(std::task::Waker::noop()).is_pending());
    waiter.pending();
    semaphore.close();
    assert!(waiter.is_woken());
}

#[test]
fn panics_in_wakers_lose_neither_permits_nor_wake_ups() {
    let semaphore = Semaphore::new(0);
    let mut waiting: Vec<_> = (0..100).map(|_| manual(semaphore.acquire())).collect();
    for (i, waiter) in waiting.iter_mut().enumerate() {
        if i % 50 == 3 {
            assert!(waiter.poll_with(&panicking_waker()).is_pending());
        } else {
            waiter.pending();
        }
    }
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(101))).is_err());
    let permits: Vec<_> = waiting.iter_mut().map(|w| w.ready().unwrap()).collect();
    assert_eq!(waiting.iter().filter(|w| w.is_woken()).count(), 98);
    assert_eq!(semaphore.available_permits(), 1);
    drop(permits);
    assert_eq!(semaphore.available_permits(), 101);
}

#[test]
fn panics_in_wakers_do_not_stop_a_close() {
    let semaphore = Semaphore::new(0);
    let mut waiting: Vec<_> = (0..100).map(|_| manual(semaphore.acquire())).collect();
    for (i, waiter) in waiting.iter_mut().enumerate() {
        if i % 50 == 0 {
            assert!(waiter.poll_with(&panicking_waker()).is_pending());
        } else {
            waiter.pending();
        }
    }
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.close())).is_err());
    assert_eq!(waiting.iter().filter(|w| w.is_woken()).count(), 98);
    assert!(waiting.iter_mut().all(|w| w.ready().is_err()));
}

#[test]
fn a_waker_may_use_the_same_semaphore() {
    struct Reenter(Arc<Semaphore>);
    impl std::task::Wake for Reenter {
        fn wake(self: Arc<Self>) {
            self.0.add_permits(1);
            assert!(self.0.try_acquire().is_ok());
        }
    }
    let semaphore = Arc::new(Semaphore::new(0));
    let mut waiter = manual(semaphore.acquire());
    let waker = Arc::new(Reenter(semaphore.clone())).into();
    assert!(waiter.poll_with(&waker).is_pending());
    semaphore.add_permits(1);
    assert!(waiter.ready().is_ok());
}

#[test]
fn forgotten_permits_are_gone() {
    let semaphore = Semaphore::new(5);
    semaphore.try_acquire_many(2).unwrap().forget();
    assert_eq!(semaphore.forget_permits(2), 2);
    assert_eq!(semaphore.forget_permits(2), 1);
    assert_eq!(semaphore.forget_permits(2), 0);
    let mut waiter = manual(semaphore.acquire());
    waiter.pending();
    assert_eq!(semaphore.forget_permits(usize::MAX), 0);
    semaphore.add_permits(1);
    assert!(waiter.ready().is_ok());
}

#[test]
fn permits_merge_and_split() {
    let semaphore = Arc::new(Semaphore::new(6));
    let mut a = semaphore.try_acquire_many(2).unwrap();
    a.merge(semaphore.try_acquire().unwrap());
    assert!(a.split(4).is_none());
    let b = a.split(3).unwrap();
    assert_eq!((a.num_permits(), b.num_permits()), (0, 3));
    assert!(std::ptr::eq(b.semaphore(), &*semaphore));

    let mut c = semaphore.clone().try_acquire_many_owned(2).unwrap();
    c.merge(semaphore.clone().try_acquire_owned().unwrap());
    let d = c.split(1).unwrap();
    assert!(Arc::ptr_eq(d.semaphore(), &semaphore));
    assert_eq!(semaphore.available_permits(), 0);
    d.forget();
    drop((a, b, c));
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
#[should_panic(expected = "merging permits from different semaphore instances")]
fn permits_of_two_semaphores_do_not_merge() {
    let (a, b) = (Semaphore::new(1), Semaphore::new(1));
    let mut permit = a.try_acquire().unwrap();
    permit.merge(b.try_acquire().unwrap());
}

#[test]
fn max_permits_is_the_limit() {
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS);
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(1))).is_err());
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
    assert!(catch_unwind(|| Semaphore::new(Semaphore::MAX_PERMITS + 1)).is_err());

    let semaphore = Semaphore::new(0);
    let mut waiting = manual(semaphore.acquire());
    waiting.pending();
    for n in [Semaphore::MAX_PERMITS + 1, usize::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(n))).is_err());
        waiting.pending();
    }
    semaphore.add_permits(Semaphore::MAX_PERMITS);
    let _one = waiting.ready().unwrap();
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS - 1);
}

#[test]
fn blocking_calls_wait_and_panic_inside_a_runtime() {
    let semaphore = Arc::new(Semaphore::new(0));
    let adder = std::thread::spawn({
        let semaphore = semaphore.clone();
        move || semaphore.add_permits(3)
    });
    let three = semaphore.blocking_acquire_many(3).unwrap();
    adder.join().unwrap();
    drop(three);
    let _owned = semaphore.clone().blocking_acquire_owned().unwrap();

    let _inside = set_entered(Entered::MayBlockInPlace);
    let refused = catch_unwind(AssertUnwindSafe(|| drop(semaphore.blocking_acquire())));
    let text = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("blocking_acquire") && text.contains("acquire().await"), "{text}");
}

#[test]
fn acquire_consumes_budget_and_queues_without_any() {
    use wakeful_base::budget;
    let semaphore = Semaphore::new(200);
    let mut taken = 0;
    budget::with_initial(|| {
        while let std::task::Poll::Ready(permit) = manual(semaphore.acquire()).poll() {
            permit.unwrap().forget();
            taken += 1;
        }
    });
    assert_eq!(taken, 128);
    let mut rest = manual(semaphore.acquire_many(73));
    rest.pending();
    semaphore.add_permits(1);
    assert!(rest.ready().is_ok());
}

#[test]
fn futures_are_send_and_sync() {
    fn check<T: Send + Sync>(_: T) {}
    let semaphore = Arc::new(Semaphore::new(9));
    check(semaphore.acquire());
    check(semaphore.acquire_many(2));
    check(semaphore.clone().acquire_owned());
    check(semaphore.try_acquire().unwrap());
}

#[test]
fn stress_permits_are_neither_lost_nor_created() {
    stress(|seed| {
        let semaphore = Arc::new(Semaphore::new(5));
        let out = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|t| {
                let (semaphore, out) = (semaphore.clone(), out.clone());
                let mut random = Random::new(seed * 4 + t);
                std::thread::spawn(move || {
                    for _ in 0..200 {
                        let n = random.below(5) + 1;
                        if random.below(4) == 0 {
                            // Dropped after one poll.
                            let _ = manual(semaphore.acquire_many(n as u32)).poll().is_ready();
                            continue;
                        }
                        let permits = block_on(semaphore.acquire_many(n as u32)).unwrap();
                        assert!(
                            out.fetch_add(n, SeqCst) + n <= 5,
                            "more permits out than there are"
                        );
                        out.fetch_sub(n, SeqCst);
                        drop(permits);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(semaphore.available_permits(), 5);
    });
}

#[test]
fn permits_survive_a_panicking_waker_without_budget() {
    let semaphore = Semaphore::new(1);
    budget::with_initial(|| {
        while budget::has_remaining() {
            budget::proceed().unwrap().made_progress();
        }
        let mut acquire = manual(semaphore.acquire());
        // Outside a runtime the waker is called at once.
        let poll = || acquire.poll_with(&panicking_waker()).is_ready();
        catch_unwind(AssertUnwindSafe(poll)).unwrap_err();
        drop(acquire);
    });
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn permits_survive_a_panic_in_the_drop_of_an_unneeded_waker() {
    static SEMAPHORE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(0));
    let waker = waker_with_hostile_clones(&|| SEMAPHORE.add_permits(1));
    let mut acquire = manual(SEMAPHORE.acquire());
    // The clone adds the permit, so that the future need not wait and drops the clone, which
    // panics.
    let Poll::Ready(Ok(permit)) = acquire.poll_with(&waker) else { panic!("there is a permit") };
    drop((permit, acquire));
    assert_eq!(SEMAPHORE.available_permits(), 1);
}

#[test]
fn a_panic_while_leaving_gives_permits_back_once() {
    type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

    /// Polls the future once more when woken, and drops it.
    struct PollsOnce(Mutex<Option<Waiting>>);

    impl Wake for PollsOnce {
        fn wake(self: Arc<Self>) {
            let mut waiting = self.0.lock().unwrap().take().unwrap();
            let poll = || waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
            catch_unwind(AssertUnwindSafe(poll)).unwrap_err();
        }
    }

    let semaphore = Arc::new(Semaphore::new(1));
    let mut first: Waiting = Box::pin(semaphore.clone().acquire_many_owned(2));
    let polls_once = Arc::new(PollsOnce(Mutex::new(None)));
    let waker = Waker::from(polls_once.clone());
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    *polls_once.0.lock().unwrap() = Some(first);
    let mut others: Vec<_> = (0..40).map(|_| manual(semaphore.acquire())).collect();
    for (i, other) in others.iter_mut().enumerate() {
        if i == 31 {
            assert!(other.poll_with(&panicking_waker()).is_pending());
        } else {
            other.pending();
        }
    }
    // The first batch of 32 wakers polls and drops the first waiter. It leaves, and its permit goes
    // to a waiter whose waker panics.
    semaphore.close();
    assert!(polls_once.0.lock().unwrap().is_none());
    drop(others);
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn any_number_of_wakers_may_panic() {
    let semaphore = Semaphore::new(0);
    let waiters = || (0..10_000).map(|_| semaphore.acquire());
    let mut all = release_many_that_panic(waiters(), || semaphore.add_permits(10_001));
    all.iter_mut().for_each(|waiter| waiter.ready().unwrap().forget());
    assert_eq!(semaphore.forget_permits(2), 1);
    let mut all = release_many_that_panic(waiters(), || semaphore.close());
    all.iter_mut().for_each(|waiter| assert!(waiter.ready().is_err()));
}
