//! The results as one JSON document with all samples.

use crate::machine::Machine;
use crate::measure::Better;
use crate::os::CpuLoss;
use crate::report::Report;
use crate::results::Row;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    machine: &'a Machine,
    quick: bool,
    cpu_loss: Option<&'a CpuLoss>,
    figures: Vec<Figure<'a>>,
    failures: &'a [String],
    notes: &'a [String],
}

#[derive(Serialize)]
struct Figure<'a> {
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

fn figures<'a>(rows: &'a [Row]) -> Vec<Figure<'a>> {
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
    let document = Document {
        machine: &report.machine,
        quick: report.quick,
        cpu_loss: report.cpu_loss.as_ref(),
        figures: figures(&report.rows),
        failures: &report.failures,
        notes: &report.notes,
    };
    serde_json::to_writer_pretty(&mut to, &document)?;
    writeln!(to)
}
