//! Programs that do what the console must bear: they listen for its signal, fork, or end.

pub mod children;
pub mod forks;
pub mod own_handler;
pub mod own_listener;
pub mod shuts_down;
pub mod two_runtimes;
