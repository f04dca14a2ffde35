//! What a node keeps on disk: `log`, with the changes and the votes, and `snapshot`, with the map as it
//! was at some change. After a start, the changes since the snapshot are applied again.

mod files;
mod log_file;
mod log_store;
mod state_machine;

pub use log_store::LogStore;
pub use state_machine::StateMachine;
