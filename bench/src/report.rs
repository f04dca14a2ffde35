//! A whole run.

use crate::machine::Machine;
use crate::os::CpuLoss;
use crate::placement::Placement;
use crate::results::Row;
use crate::suite::{Case, Contender};
use std::time::Duration;

/// The picture that goes with the tables.
pub const PICTURE_FILE: &str = "results.svg";

pub struct Report<'a> {
    pub machine: Machine,
    pub contenders: Vec<&'a Contender>,
    pub quick: bool,
    /// As many of every case, if that was asked for.
    pub rounds: Option<usize>,
    pub cases: Vec<&'a Case>,
    pub rows: Vec<Row<'a>>,
    /// Contenders that crashed, hung, or gave no figures.
    pub failures: Vec<String>,
    /// Where there are fewer rounds than planned.
    pub notes: Vec<String>,
    pub took: Duration,
    pub placement: Placement,
    pub cpu_loss: Option<CpuLoss>,
}
