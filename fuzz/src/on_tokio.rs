//! The interpreters, compiled against Tokio.

use tokio as subject;

#[path = "runs/mod.rs"]
#[allow(clippy::duplicate_mod, reason = "to compile each interpreter twice is the point")]
pub mod runs;
