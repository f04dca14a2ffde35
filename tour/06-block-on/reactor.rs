//! A thread that watches the clock, so that others can sleep.
//!
//! ```text
//!     first poll        deadline          poll            drop
//!    ────────────▶ Waiting ─────▶ Fired ─────▶ Finished ─────▶ (no entry)
//!                     │                            ▲
//!                     └───▶ Closed ────────────────┘
//!                  shutdown           poll
//! ```
//!
//! The states of all timers lie on one [`Board`], where both sides find them: the futures, which
//! may be polled on any thread, and the reactor's thread. What only the thread needs, the deadlines
//! in their order, it keeps to itself and is told by mail.
//!
//! 盯着时钟的线程，好让别的线程睡觉。所有定时器的状态都在一块公告板 [`Board`] 上，双方都找得到：
//! future 不知道会在哪里被轮询，线程则只有一个。只有线程用得着的东西（排好序的截止时间），它自己留
//! 着，靠信件得知。

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::panics;
use crate::timeline::Timeline;

/// The reactor itself: its owner decides how long it lives.
pub struct Reactor {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// What timers are made with. It does not keep the reactor running.
#[derive(Clone)]
pub struct Handle {
    board: Arc<Mutex<Board>>,
    mail: Sender<Mail>,
    timeline: Timeline,
}

/// Where timers and the reactor's thread meet.
#[derive(Default)]
struct Board {
    states: HashMap<u64, TimerState>,
    timers_made: u64,
    is_closed: bool,
}

/// How far a timer has got.
enum TimerState {
    /// Its deadline lies ahead; this waker is to be called then.
    Waiting(Waker),
    /// Its deadline is over, but it has not been polled since.
    Fired,
    /// Its reactor closed before its deadline.
    Closed,
    /// It has told its result.
    Finished,
}

/// What the thread is told.
enum Mail {
    Arm { deadline: Instant, id: u64 },
    Close,
}

/// The reactor closed before the timer's deadline.
#[derive(Debug, PartialEq, Eq)]
pub struct Closed;

impl Reactor {
    /// Starts the thread.
    pub fn start(timeline: &Timeline) -> io::Result<Reactor> {
        let (mail, inbox) = mpsc::channel();
        let handle = Handle { board: Arc::default(), mail, timeline: timeline.clone() };
        let (board, timeline) = (handle.board.clone(), timeline.clone());
        let thread = thread::Builder::new().name("reactor".to_owned());
        let thread = thread.spawn(move || serve(&inbox, &board, &timeline))?;
        Ok(Reactor { handle, thread: Some(thread) })
    }

    /// To make timers with, also after the reactor was moved or dropped.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

/// Shuts down: tasks that still wait are woken and get an error, and the thread has ended when this
/// returns.
impl Drop for Reactor {
    fn drop(&mut self) {
        // Fails only if the thread has ended already, and then it need not be told.
        let _ = self.handle.mail.send(Mail::Close);
        let thread = self.thread.take().expect("it is taken only here");
        // The reactor may be part of a task that is dropped by the waker that the thread is just
        // calling. No thread can wait for its own end.
        if thread.thread().id() != thread::current().id() {
            // It catches the panics of others and has none of its own.
            let _ = thread.join();
        }
    }
}

impl Handle {
    /// A future that waits until `deadline`.
    pub fn timer_at(&self, deadline: Instant) -> Timer {
        let mut board = lock(&self.board);
        board.timers_made += 1;
        Timer { handle: self.clone(), id: board.timers_made, deadline }
    }

    /// A future that waits for `length`, counted from now.
    pub fn timer(&self, length: Duration) -> Timer {
        self.timer_at(Instant::now() + length)
    }

    /// How many timers have an entry on the board.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        lock(&self.board).states.len()
    }
}

/// A future that waits for a time.
pub struct Timer {
    handle: Handle,
    id: u64,
    deadline: Instant,
}

impl Future for Timer {
    type Output = Result<(), Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        // Cloning and dropping a waker calls unknown code. The lock must not be held then: that
        // code may have a timer, and need the lock too. So the clone comes before the lock is
        // taken. And what is declared before the guard is dropped after it.
        let waker = cx.waker().clone();
        let _outdated;
        let mut board = lock(&self.handle.board);
        let is_closed = board.is_closed;
        match board.states.entry(self.id) {
            Entry::Vacant(_) if is_closed => Poll::Ready(Err(Closed)),
            Entry::Vacant(place) => {
                place.insert(TimerState::Waiting(waker));
                let from_now = self.deadline.saturating_duration_since(Instant::now());
                self.handle.timeline.armed(&name(self.id), in_micros(from_now));
                // Cannot fail: the thread ends only after it has closed the board.
                let _ = self.handle.mail.send(Mail::Arm { deadline: self.deadline, id: self.id });
                Poll::Pending
            }
            Entry::Occupied(mut place) => {
                let result = match place.get() {
                    // Perhaps it was another task that polled last time, so the old waker may be
                    // the wrong one. Step 3 tells that story.
                    TimerState::Waiting(_) => {
                        _outdated = place.insert(TimerState::Waiting(waker));
                        return Poll::Pending;
                    }
                    TimerState::Fired => Ok(()),
                    TimerState::Closed => Err(Closed),
                    TimerState::Finished => panic!("a timer was polled after it had completed"),
                };
                place.insert(TimerState::Finished);
                Poll::Ready(result)
            }
        }
    }
}

/// Takes the entry off the board, so that it does not grow forever. If the timer was still waiting,
/// no waker will be called.
impl Drop for Timer {
    fn drop(&mut self) {
        // In two statements: the lock is released at the end of the first, and a waker that was in
        // the entry is dropped at the end of the second.
        let entry = lock(&self.handle.board).states.remove(&self.id);
        drop(entry);
    }
}

/// What the thread does: sleeps until there is mail or a deadline, whichever comes first.
fn serve(inbox: &Receiver<Mail>, board: &Mutex<Board>, timeline: &Timeline) {
    let mut deadlines = BTreeSet::new();
    loop {
        let mail = match deadlines.first() {
            None => inbox.recv().map_err(RecvTimeoutError::from),
            Some((deadline, _)) => {
                let until_then = Instant::saturating_duration_since(deadline, Instant::now());
                inbox.recv_timeout(until_then)
            }
        };
        match mail {
            Ok(Mail::Arm { deadline, id }) => drop(deadlines.insert((deadline, id))),
            // The mail is read, and the first deadline is over.
            Err(RecvTimeoutError::Timeout) => {
                if let Some((_, id)) = deadlines.pop_first() {
                    fire(id, board, timeline);
                }
            }
            Ok(Mail::Close) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }

    timeline.note("reactor", "closes");
    let waiting: Vec<_> = {
        // From here on no timer gets a new entry, so these are all. Those that fired stay fired.
        let mut board = lock(board);
        board.is_closed = true;
        let waiting = board.states.iter_mut().filter(|(_, s)| matches!(s, TimerState::Waiting(_)));
        waiting.map(|(&id, state)| (id, mem::replace(state, TimerState::Closed))).collect()
    };
    for (id, state) in waiting {
        wake(id, state, timeline);
    }
}

fn fire(id: u64, board: &Mutex<Board>, timeline: &Timeline) {
    timeline.fired(&name(id));
    let before = lock(board).states.get_mut(&id).map(|s| mem::replace(s, TimerState::Fired));
    // If there is no entry any more, the timer was dropped before its time.
    if let Some(before) = before {
        wake(id, before, timeline);
    }
}

/// Wakes the task that waited, without the lock: a waker may do anything, even drop this very
/// timer.
///
/// It may also panic. Only this one task may suffer from that. If the thread ended with the panic,
/// all other tasks would sleep forever.
fn wake(id: u64, state: TimerState, timeline: &Timeline) {
    if let TimerState::Waiting(waker) = state {
        if let Err(text) = panics::catch(|| waker.wake()) {
            timeline.note(&name(id), format!("its waker panicked: {text}"));
        }
    }
}

/// Without the nanoseconds, which are tiresome to read.
fn in_micros(time: Duration) -> Duration {
    Duration::from_micros(time.as_micros() as u64)
}

fn name(id: u64) -> String {
    format!("timer {id}")
}

/// A poisoned board is whole: a panic under the lock can only come between two changes, not within
/// one.
fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}
