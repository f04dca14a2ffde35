//! Writes the results to the files that are kept in the repository.

use crate::markdown;
use crate::picture;
use crate::report::{PICTURE_FILE, Report};
use std::fs;
use std::io;
use std::path::Path;

const TABLES_FILE: &str = "RESULTS.md";

pub fn write(report: &Report) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::write(folder.join(PICTURE_FILE), picture::draw(&report.rows))?;
    fs::write(folder.join(TABLES_FILE), markdown::document(report))
}
