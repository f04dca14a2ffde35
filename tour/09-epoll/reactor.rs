//! A reactor for sockets, on epoll.
//!
//! Epoll is a set of descriptors in the kernel. One call puts a descriptor in, another sleeps until
//! something in the set is ready. We have each descriptor watched *once*: after it was reported it
//! is silent, until a task that got `WouldBlock` has it watched again.
//!
//! 建立在 epoll 上的套接字 reactor。epoll 是内核里的一个描述符集合：一个系统调用放进描述符，另一个
//! 睡到集合里有东西就绪。每个描述符只*盯一回*：报告一次之后就不再出声，直到某个任务得到 `WouldBlock`，
//! 又来要求盯着它。

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::panics;
use crate::timeline::Timeline;

/// What a task waits for.
#[derive(Clone, Copy)]
pub enum Direction {
    /// To read, or to accept.
    Read,
    /// To write.
    Write,
}

/// Stands for a descriptor. Numbers of descriptors are used again once they are closed; keys never
/// are, so that an event that was on its way cannot reach the next owner of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// The key of the bell.
const BELL: Key = Key(0);

/// An epoll, and the wakers of the tasks that wait in it.
pub struct Reactor {
    epoll: OwnedFd,
    /// An eventfd: a counter that is readable unless it is zero. Other threads add one to it to end
    /// a wait.
    bell: File,
    registry: Mutex<Registry>,
    timeline: Timeline,
}

#[derive(Default)]
struct Registry {
    last_key: u64,
    waiting: HashMap<Key, Waiting>,
}

/// At most one reader and one writer for each descriptor.
#[derive(Default)]
struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Reactor {
    /// A reactor with nothing in it but its bell.
    pub fn new(timeline: &Timeline) -> io::Result<Reactor> {
        // SAFETY: these two take no pointers. What they return is checked below.
        let (epoll, bell) = unsafe {
            let bell_flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
            (libc::epoll_create1(libc::EPOLL_CLOEXEC), libc::eventfd(0, bell_flags))
        };
        let (epoll, bell) = (owned(epoll), owned(bell));
        let (epoll, bell) = (epoll?, File::from(bell?));
        let timeline = timeline.clone();
        let reactor = Reactor { epoll, bell, registry: Mutex::default(), timeline };
        reactor.control(libc::EPOLL_CTL_ADD, reactor.bell.as_fd(), libc::EPOLLIN, BELL)?;
        Ok(reactor)
    }

    /// Puts a descriptor into the set. It is not watched yet.
    pub fn add(&self, fd: BorrowedFd<'_>) -> io::Result<Key> {
        let key = {
            let mut registry = self.lock();
            registry.last_key += 1;
            Key(registry.last_key)
        };
        self.control(libc::EPOLL_CTL_ADD, fd, libc::EPOLLONESHOT, key)?;
        self.lock().waiting.insert(key, Waiting::default());
        Ok(key)
    }

    /// Takes it out again, before it is closed. A task that waited for it is not woken.
    pub fn remove(&self, fd: BorrowedFd<'_>, key: Key) {
        // Fails for a descriptor that is not in the set, and then it need not be taken out.
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, key);
        let waiting = self.lock().waiting.remove(&key);
        // Only now, when the lock is released: to drop a waker may drop a task, and its sockets.
        drop(waiting);
    }

    /// Wakes `waker` once the descriptor is ready.
    ///
    /// Nothing is lost if it became ready since the caller last tried: the kernel looks at once
    /// when it is told to watch, and reports what it finds.
    pub fn wake_when(
        &self,
        fd: BorrowedFd<'_>,
        key: Key,
        direction: Direction,
        waker: &Waker,
    ) -> io::Result<()> {
        let waker = waker.clone();
        // Declared before the guard, hence dropped after it.
        let _outdated;
        let mut registry = self.lock();
        let waiting = registry.waiting.get_mut(&key).expect("the key was not removed");
        _outdated = match direction {
            Direction::Read => waiting.reader.replace(waker),
            Direction::Write => waiting.writer.replace(waker),
        };
        let mut events = libc::EPOLLONESHOT;
        if waiting.reader.is_some() {
            events |= libc::EPOLLIN;
        }
        if waiting.writer.is_some() {
            events |= libc::EPOLLOUT;
        }
        // Under the lock, so that the kernel hears of the two directions in the order of our
        // changes.
        self.control(libc::EPOLL_CTL_MOD, fd, events, key)
    }

    /// Sleeps until a descriptor is ready, or only checks whether one is; then wakes the tasks that
    /// wait for it.
    pub fn wait(&self, may_sleep: bool) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        let timeout_ms = if may_sleep { -1 } else { 0 };
        if may_sleep {
            self.timeline.note("epoll", "nothing to do: the thread sleeps here");
        }
        // SAFETY: the kernel writes at most as many events as there is room for.
        let count = unsafe {
            let (list, room) = (events.as_mut_ptr(), events.len() as i32);
            libc::epoll_wait(self.epoll.as_raw_fd(), list, room, timeout_ms)
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            // A signal came. The caller checks its queue and calls again.
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        let events = &events[..count as usize];
        if !events.is_empty() {
            self.timeline.note("epoll", format!("descriptors ready: {}", events.len()));
        }
        for event in events {
            match Key(event.u64) {
                BELL => self.silence_bell(),
                key => self.wake_all_of(key),
            }
        }
        Ok(())
    }

    /// Wakes both directions, whichever it was: for a descriptor that is watched once, one event is
    /// all there is. A task that was not meant will get `WouldBlock`, and wait again.
    fn wake_all_of(&self, key: Key) {
        let waiting = self.lock().waiting.get_mut(&key).map(std::mem::take);
        // No entry: it was removed while the event was on its way.
        let Some(Waiting { reader, writer }) = waiting else { return };
        for waker in [reader, writer].into_iter().flatten() {
            // One task's panic must not keep the others of this round from being woken.
            let _ = panics::catch(|| waker.wake());
        }
    }

    /// Ends a wait that another thread is in, or the next one.
    pub fn ring(&self) {
        // Fails only if the counter would overflow, and then the bell is ringing all right.
        let _ = (&self.bell).write(&1u64.to_ne_bytes());
    }

    /// Sets the counter back to zero.
    fn silence_bell(&self) {
        self.timeline.note("epoll", "one is the bell, which another thread has rung");
        let _ = (&self.bell).read(&mut [0; 8]);
    }

    fn control(&self, operation: i32, fd: BorrowedFd<'_>, events: i32, key: Key) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: key.0 };
        let (epoll, fd) = (self.epoll.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: the event outlives the call, which copies it; both descriptors are open.
        let result = unsafe { libc::epoll_ctl(epoll, operation, fd, &mut event) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a system call returned: a descriptor, or an error.
fn owned(result: i32) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this call, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}
