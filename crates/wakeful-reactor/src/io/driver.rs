//! Waits for the kernel's events and hands them to the slots.

use super::fallback::Fallback;
use super::registration::Registration;
use super::slots::IoSlots;
use super::stopped::Stopped;
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
use wakeful_base::{CallWaker, call_now, diagnostics};

/// Stands for the notifier of [`signal`] among the tokens: no slot has the last index of all.
const SIGNAL_TOKEN: u64 = u32::MAX as u64;

/// Readiness of descriptors, for any number of threads.
///
/// Nobody owns it: whoever has nothing better to do waits in it, one at a time or several.
#[derive(Debug)]
pub struct IoDriver {
    poller: Poller,
    pub(super) slots: IoSlots,
    /// A wake-up is under way that no wait has ended by yet.
    woken: AtomicBool,
    is_shutdown: AtomicBool,
    fallback: Fallback,
    is_break_down_told: AtomicBool,
    metrics: IoMetrics,
}

/// What a driver counts.
#[derive(Debug, Default)]
pub struct IoMetrics {
    registered: AtomicU64,
    deregistered: AtomicU64,
    events: AtomicU64,
}

impl IoMetrics {
    /// Descriptors that were ever registered.
    pub fn registered(&self) -> u64 {
        self.registered.load(Relaxed)
    }

    /// Descriptors that were taken out again.
    pub fn deregistered(&self) -> u64 {
        self.deregistered.load(Relaxed)
    }

    /// Events that the kernel reported.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }
}

/// Room for the events of one wait. Each waiting thread brings its own.
pub struct IoEvents(Events);

impl IoEvents {
    /// Room for so many events.
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
    /// A new driver.
    ///
    /// # Errors
    /// If the kernel gives no descriptors for it.
    pub fn new() -> io::Result<Arc<IoDriver>> {
        Ok(Arc::new(IoDriver {
            poller: Poller::new()?,
            slots: IoSlots::new(),
            woken: AtomicBool::new(false),
            is_shutdown: AtomicBool::new(false),
            fallback: Fallback::new(),
            is_break_down_told: AtomicBool::new(false),
            metrics: IoMetrics::default(),
        }))
    }

    /// What it counts.
    pub fn metrics(&self) -> &IoMetrics {
        &self.metrics
    }

    /// Waits for events, a call to [`wake`](Self::wake), or the end of `timeout` (none: for ever), and
    /// has the wakers of those who waited for what came called by `call`.
    ///
    /// If the kernel refuses the wait for another reason than a signal, the driver is broken: see
    /// [`is_broken`](Self::is_broken).
    pub fn wait(&self, events: &mut IoEvents, timeout: Option<Duration>, call: CallWaker<'_>) {
        if self.is_broken() {
            self.tell_of_break_down(call);
            return self.fallback.wait(&self.woken, timeout);
        }
        let waited = self.poller.wait(&mut events.0, timeout);
        // Calls to `wake` up to now are answered by this return.
        self.woken.store(false, SeqCst);
        if let Err(error) = waited {
            self.break_down("wait for events", &error);
            return self.tell_of_break_down(call);
        }
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

    /// Has signals handed out by this driver's waits, too.
    ///
    /// # Errors
    /// If the kernel gives no descriptor for it.
    pub fn attend_to_signals(&self) -> io::Result<()> {
        self.poller.add(signal::notifier_fd()?, SIGNAL_TOKEN, Interest::READABLE)
    }

    /// Timers whose ticks end this driver's waits.
    ///
    /// # Errors
    /// If the kernel gives no descriptors for it.
    pub fn new_tick_timers(&self) -> io::Result<TickTimers> {
        TickTimers::new(&self.poller)
    }

    /// Whether operations can still be waited for.
    ///
    /// # Errors
    /// If it is shut down.
    pub fn check_running(&self) -> io::Result<()> {
        if self.is_broken() {
            return Err(Stopped::Broken.into());
        }
        if self.is_shutdown.load(Acquire) { Err(Stopped::ShutDown.into()) } else { Ok(()) }
    }

    /// Whether a wait would end at once. Takes no event and calls no waker.
    pub fn has_events(&self) -> bool {
        !self.is_broken() && self.poller.has_events()
    }

    /// Ends the wait under way, or the next one. From any thread.
    pub fn wake(&self) {
        if self.woken.swap(true, SeqCst) {
            return;
        }
        if self.is_broken() {
            self.fallback.wake();
        } else if let Err(error) = self.poller.wake() {
            self.break_down_from_outside(&error);
        }
    }

    /// Whether the driver's own descriptors do not work any more: other code in the process has closed
    /// or replaced them, or the kernel has begun to refuse the calls.
    ///
    /// Its operations fail from then on. Waits last until their timeout or a call to
    /// [`wake`](Self::wake), so that tasks and timers go on.
    pub fn is_broken(&self) -> bool {
        self.fallback.is_used()
    }

    #[cold]
    fn break_down(&self, what: &str, error: &io::Error) {
        if self.fallback.begin() {
            diagnostics::print(format_args!(
                "the I/O driver of a runtime cannot {what} ({error}). Other code in this process has \
                 closed or replaced its descriptors, or a filter refuses the system call. From now on \
                 all I/O of this runtime fails; tasks without I/O and timers go on."
            ));
        }
    }

    /// Has the wakers of all who wait for events called, once: none will come.
    #[cold]
    fn tell_of_break_down(&self, call: CallWaker<'_>) {
        if !self.is_break_down_told.swap(true, AcqRel) {
            self.slots.for_each(|slot| slot.shut_down(Stopped::Broken, call));
        }
    }

    /// As [`break_down`](Self::break_down), while a thread may be waiting for events. That thread tells
    /// the slots, in its next wait: here no waker may be called.
    #[cold]
    fn break_down_from_outside(&self, error: &io::Error) {
        self.break_down("end a wait for events", error);
        if let Err(error) = self.poller.interrupt() {
            diagnostics::print(format_args!(
                "nor can the thread that waits be woken in another way ({error}); without it the \
                 runtime cannot go on. The process aborts."
            ));
            std::process::abort();
        }
        self.fallback.wake();
    }

    /// Registers a descriptor, which must stay open until the registration is gone.
    ///
    /// # Errors
    /// If the kernel cannot watch it (a regular file, say), or the driver is shut down.
    pub fn register(self: &Arc<Self>, fd: RawFd, interest: Interest) -> io::Result<Registration> {
        self.check_running()?;
        let Some((index, slot)) = self.slots.take() else {
            return Err(io::Error::other("no I/O driver can watch more descriptors than that"));
        };
        if let Err(error) = self.poller.add(fd, token(index, slot.generation()), interest) {
            self.slots.give_back(index);
            return Err(error);
        }
        self.metrics.registered.fetch_add(1, Relaxed);
        // A shutdown that came after the look above may have passed the slot by.
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

    /// Lets every operation fail from now on, and calls all who wait.
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
