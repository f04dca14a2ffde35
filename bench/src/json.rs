//! Results for programs: one JSON document with every sample.

use crate::machine::Machine;
use crate::measure::Better;
use crate::os::CpuLoss;
use crate::results::Row;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
pub struct Report<'a> {
    pub machine: &'a Machine,
    pub quick: bool,
    pub cpu_loss: Option<CpuLoss>,
    pub figures: Vec<Figure<'a>>,
    pub failures: &'a [String],
    pub notes: &'a [String],
}

#[derive(Serialize)]
pub struct Figure<'a> {
    case: &'a str,
    metric: &'a str,
    unit: &'a str,
    better: Better,
    contender: &'a str,
    median: f64,
    baseline: Option<&'a str>,
    ratio: Option<f64>,
    samples: &'a [f64],
}

pub fn figures<'a>(rows: &'a [Row]) -> Vec<Figure<'a>> {
    let of_row = |row: &'a Row| {
        row.cells.iter().map(|cell| Figure {
            case: row.case.name,
            metric: &row.metric,
            unit: &row.unit,
            better: row.better,
            contender: cell.contender.name,
            median: cell.median(),
            baseline: cell.contender.baseline,
            ratio: row.ratio(cell.contender),
            samples: &cell.samples,
        })
    };
    rows.iter().flat_map(of_row).collect()
}

pub fn write(report: &Report, mut to: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, report)?;
    writeln!(to)
}
