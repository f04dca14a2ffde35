//! The interpreters, compiled against Wakeful.

use wakeful as subject;

#[path = "runs/mod.rs"]
pub mod runs;
