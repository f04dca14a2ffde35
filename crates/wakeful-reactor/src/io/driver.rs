//! The driver: waits for the kernel's events and passes them to the slots.

use super::fallback::Fallback;
use super::registration::Registration;
use super::slots::IoSlots;
use super::stopped::Stopped;
use super::wake_state::WakeState;
use crate::Interest;
use crate::signal;
use crate::sys::{Events, Poller, TickTimers};
use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::{CachePadded, CallWaker, call_now, diagnostics};

/// The token of the [`signal`] notifier. No slot has this index.
const SIGNAL_TOKEN: u64 = u32::MAX as u64;

/// The timeout of a call that only takes the events that are there.
const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

/// An I/O driver, shared by any number of threads.
///
/// No thread owns it. One idle thread at a time [waits](Self::wait) in it; any thread may
/// [look](Self::look) meanwhile.
#[derive(Debug)]
pub struct IoDriver {
    poller: Poller,
    pub(super) slots: IoSlots,
    /// Written by each wait, as the counters are, so kept away from what every operation reads.
    wake_state: CachePadded<WakeState>,
    is_shutdown: AtomicBool,
    fallback: Fallback,
    is_failure_reported: AtomicBool,
    metrics: CachePadded<IoMetrics>,
}

/// The counters of a driver.
#[derive(Debug, Default)]
pub struct IoMetrics {
    registered: AtomicU64,
    deregistered: AtomicU64,
    events: AtomicU64,
}

impl IoMetrics {
    /// Returns the number of descriptors ever registered.
    pub fn registered(&self) -> u64 {
        self.registered.load(Relaxed)
    }

    /// Returns the number of descriptors deregistered.
    pub fn deregistered(&self) -> u64 {
        self.deregistered.load(Relaxed)
    }

    /// Returns the number of events reported by the kernel.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }
}

/// A buffer for the events of one wait or look. Each thread has its own.
pub struct IoEvents(Events);

impl IoEvents {
    /// Creates a buffer for `capacity` events.
    pub fn with_capacity(capacity: usize) -> IoEvents {
        IoEvents(Events::with_capacity(capacity))
    }
}

impl fmt::Debug for IoEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoEvents").finish_non_exhaustive()
    }
}

impl IoDriver {
    /// Creates a driver.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to create the driver's descriptors.
    pub fn new() -> io::Result<Arc<IoDriver>> {
        Ok(Arc::new(IoDriver {
            poller: Poller::new()?,
            slots: IoSlots::new(),
            wake_state: CachePadded::new(WakeState::new()),
            is_shutdown: AtomicBool::new(false),
            fallback: Fallback::new(),
            is_failure_reported: AtomicBool::new(false),
            metrics: CachePadded::new(IoMetrics::default()),
        }))
    }

    /// Returns the counters.
    pub fn metrics(&self) -> &IoMetrics {
        &self.metrics
    }

    /// Waits for events, a call to [`wake`](Self::wake), or the end of `timeout`.
    ///
    /// One thread at a time may wait; the caller sees to that. Without a `timeout` there is no
    /// limit. The wait may end early without a reason. The wakers of tasks that waited for the
    /// events are passed to `call`. If the kernel refuses the wait, other than because of a signal,
    /// the driver is broken: see [`is_broken`](Self::is_broken).
    pub fn wait(&self, events: &mut IoEvents, timeout: Option<Duration>, call: CallWaker<'_>) {
        if self.is_broken() {
            self.report_failure(call);
            return self.fallback.wait(|| self.wake_state.take_wake_up(), timeout);
        }
        // A call that does not block needs no other thread to end it.
        let blocks = timeout != NO_WAIT && self.wake_state.begin_wait();
        let waited = self.poller.wait(&mut events.0, if blocks { timeout } else { NO_WAIT });
        self.wake_state.end_wait();
        match waited {
            Ok(()) => self.report(events, call),
            Err(error) => {
                self.fail("wait for events", &error);
                self.report_failure(call);
            }
        }
    }

    /// Takes the events that are there, without waiting for more. Callable from any thread.
    ///
    /// Does nothing while another thread waits, because that thread takes the events. The wakers of
    /// tasks that waited for the events are passed to `call`. A look that takes what was to end the
    /// wait of another thread passes it on.
    pub fn look(&self, events: &mut IoEvents, call: CallWaker<'_>) {
        if self.is_broken() {
            return self.report_failure(call);
        }
        if self.wake_state.is_waiting() {
            return;
        }
        match self.poller.wait(&mut events.0, NO_WAIT) {
            Ok(()) => {
                // Before the wakers are called: another thread may have begun to wait since.
                if events.0.has_wake_up() {
                    self.pass_wake_up_on();
                }
                self.report(events, call);
            }
            Err(error) => {
                self.fail("wait for events", &error);
                // A thread that has begun to wait must find out that the driver is broken.
                self.pass_wake_up_on();
                self.report_failure(call);
            }
        }
    }

    /// Passes the events to their slots, and the slots' wakers to `call`.
    fn report(&self, events: &IoEvents, call: CallWaker<'_>) {
        let (mut count, mut has_signals) = (0, false);
        for (token, ready) in events.0.iter() {
            if token == SIGNAL_TOKEN {
                has_signals = true;
                continue;
            }
            count += 1;
            let (index, generation) = split_token(token);
            if let Some(slot) = self.slots.get(index) {
                slot.report(generation, ready, call);
            }
        }
        if count > 0 {
            self.metrics.events.fetch_add(count, Relaxed);
        }
        if has_signals {
            signal::distribute(call);
        }
    }

    /// Makes the waits of this driver deliver signals as well.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to create a descriptor.
    pub fn attend_to_signals(&self) -> io::Result<()> {
        self.poller.add(signal::notifier_fd()?, SIGNAL_TOKEN, Interest::READABLE)
    }

    /// Creates timers whose ticks end this driver's waits.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to create their descriptors.
    pub fn new_tick_timers(&self) -> io::Result<TickTimers> {
        TickTimers::new(&self.poller)
    }

    /// Checks that the driver is running.
    ///
    /// # Errors
    /// Returns an error if the driver is shut down or broken.
    pub fn check_running(&self) -> io::Result<()> {
        if self.is_broken() {
            return Err(Stopped::Broken.into());
        }
        if self.is_shutdown.load(Acquire) { Err(Stopped::ShutDown.into()) } else { Ok(()) }
    }

    /// Returns whether a wait would end at once. Consumes no event and calls no waker.
    pub fn has_events(&self) -> bool {
        !self.is_broken() && self.poller.has_events()
    }

    /// Ends the current wait or the next one. Callable from any thread.
    pub fn wake(&self) {
        if !self.wake_state.wake() {
            return;
        }
        if self.is_broken() {
            self.fallback.wake();
        } else {
            self.notify_kernel();
        }
    }

    /// Ends the wait of a thread whose wake-up or tick a look has taken, or makes the next wait end
    /// at once.
    fn pass_wake_up_on(&self) {
        let is_in_kernel = self.wake_state.pass_on();
        if self.is_broken() {
            self.fallback.wake();
        }
        // Even if the driver is broken: the thread may wait in the kernel since before.
        if is_in_kernel {
            self.notify_kernel();
        }
    }

    fn notify_kernel(&self) {
        if let Err(error) = self.poller.wake() {
            self.fail_while_waiting(&error);
        }
    }

    /// Returns whether the driver's own descriptors have stopped working.
    ///
    /// Other code in the process has closed or replaced them, or the kernel has begun to refuse the
    /// calls. All operations fail from then on. Waits last until their timeout or a call to
    /// [`wake`](Self::wake), so that tasks and timers keep running.
    pub fn is_broken(&self) -> bool {
        self.fallback.is_used()
    }

    #[cold]
    fn fail(&self, what: &str, error: &io::Error) {
        if self.fallback.begin() {
            diagnostics::print(format_args!(
                "the I/O driver of a runtime cannot {what} ({error}). Other code in this process has \
                 closed or replaced its descriptors, or a filter refuses the system call. From now on \
                 all I/O of this runtime fails; tasks without I/O and timers keep running."
            ));
        }
    }

    /// Passes the wakers of all waiters to `call`, once, since no event will come any more.
    #[cold]
    fn report_failure(&self, call: CallWaker<'_>) {
        if !self.is_failure_reported.swap(true, AcqRel) {
            self.slots.for_each(|slot| slot.shut_down(Stopped::Broken, call));
        }
    }

    /// Does the same as [`fail`](Self::fail), while another thread may be waiting for events. That
    /// thread notifies the slots in its next wait, since no waker may be called here.
    #[cold]
    fn fail_while_waiting(&self, error: &io::Error) {
        self.fail("end a wait for events", error);
        if let Err(error) = self.poller.interrupt() {
            diagnostics::print(format_args!(
                "the waiting thread cannot be woken in another way either ({error}), and without \
                 it the runtime cannot continue. The process aborts."
            ));
            std::process::abort();
        }
        self.fallback.wake();
    }

    /// Registers a descriptor, which must stay open until the registration is dropped.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor (a regular file, for example), or
    /// the driver is shut down or broken.
    pub fn register(self: &Arc<Self>, fd: RawFd, interest: Interest) -> io::Result<Registration> {
        self.check_running()?;
        let Some((index, slot)) = self.slots.take() else {
            return Err(io::Error::other("the I/O driver cannot watch more than 2^32 descriptors"));
        };
        if let Err(error) = self.poller.add(fd, token(index, slot.generation()), interest) {
            self.slots.give_back(index);
            return Err(error);
        }
        self.metrics.registered.fetch_add(1, Relaxed);
        // A shutdown after the check above may have missed this slot.
        if self.is_broken() {
            slot.shut_down(Stopped::Broken, &mut call_now);
        } else if self.is_shutdown.load(SeqCst) {
            slot.shut_down(Stopped::ShutDown, &mut call_now);
        }
        Ok(Registration::new(self.clone(), index, fd))
    }

    pub(super) fn deregister(&self, index: u32, fd: RawFd) -> io::Result<()> {
        let removed = self.poller.remove(fd);
        self.metrics.deregistered.fetch_add(1, Relaxed);
        if let Some(slot) = self.slots.get(index) {
            let wakers = slot.retire();
            self.slots.give_back(index);
            drop(wakers);
        }
        removed
    }

    /// Makes every operation fail from now on, and wakes all waiters.
    pub fn shut_down(&self) {
        self.is_shutdown.store(true, SeqCst);
        self.slots.for_each(|slot| slot.shut_down(Stopped::ShutDown, &mut call_now));
    }
}

fn token(index: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}

fn split_token(token: u64) -> (u32, u32) {
    (token as u32, (token >> 32) as u32)
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
