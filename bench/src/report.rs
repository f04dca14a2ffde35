//! A whole run, and the files it can be kept in.

use crate::machine::Machine;
use crate::markdown;
use crate::os::CpuLoss;
use crate::picture;
use crate::results::Row;
use crate::suite::{Case, Contender};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

const TABLES_FILE: &str = "RESULTS.md";
pub const PICTURE_FILE: &str = "results.svg";

pub struct Report<'a> {
    pub machine: Machine,
    pub contenders: Vec<&'a Contender>,
    pub quick: bool,
    pub cases: Vec<&'a Case>,
    pub rows: Vec<Row<'a>>,
    /// Contenders that crashed, hung, or gave no figures.
    pub failures: Vec<String>,
    /// Where there are fewer rounds than planned.
    pub notes: Vec<String>,
    pub took: Duration,
    pub cpu_loss: Option<CpuLoss>,
}

impl Report<'_> {
    /// Writes table and picture beside the source of this program.
    pub fn keep(&self) -> io::Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        fs::write(folder.join(PICTURE_FILE), picture::draw(&self.rows))?;
        fs::write(folder.join(TABLES_FILE), markdown::document(self))
    }
}
