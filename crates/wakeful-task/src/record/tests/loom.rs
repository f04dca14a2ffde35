//! Loom models of the origin: a poller installs a record while other threads name the task, wake it
//! and read; then the last one frees all of it.
