//! Channels, locks and notifications for asynchronous code.
//!
//! Everything here works under any executor: a future that has to wait leaves its waker behind and is
//! woken when its turn has come. Waiting allocates nothing, since a waiter's node lies inside the
//! waiting future, and whoever came first is served first.
