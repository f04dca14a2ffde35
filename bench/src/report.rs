//! The report of a whole run.

use crate::machine::Machine;
use crate::os::CpuLoss;
use crate::placement::Placement;
use crate::results::Row;
use crate::suite::{Case, Contender};
use std::time::Duration;

/// The file of the picture, next to the tables.
pub const PICTURE_FILE: &str = "results.svg";

pub struct Report<'a> {
    pub machine: Machine,
    pub contenders: Vec<&'a Contender>,
    pub quick: bool,
    /// The number of rounds of every case, if the command line sets one.
    pub rounds: Option<usize>,
    pub cases: Vec<&'a Case>,
    pub rows: Vec<Row<'a>>,
    /// Contenders that crashed, hung, or returned no figures.
    pub failures: Vec<String>,
    /// Cases that are skipped, or have fewer rounds than planned.
    pub notes: Vec<String>,
    pub took: Duration,
    pub placement: Placement,
    pub cpu_loss: Option<CpuLoss>,
}
