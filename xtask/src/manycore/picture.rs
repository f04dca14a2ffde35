//! A picture of the ratios: a panel for each case, in which a curve for each figure runs from few
//! workers to many.
//!
//! Both axes are logarithmic, so that twice as good and half as good have the same distance from
//! Tokio's line. The picture has no background, and colours for light and for dark pages.

use std::fmt::Write;

use super::figures::{Figure, Row};

#[cfg(test)]
mod tests;

const COLUMNS: usize = 4;
const PANEL_WIDTH: f64 = 220.0;
const PANEL_HEIGHT: f64 = 150.0;
/// The space in a panel around its plot.
const LEFT: f64 = 34.0;
const RIGHT: f64 = 10.0;
const ABOVE: f64 = 24.0;
const BELOW: f64 = 22.0;
/// The space above all panels, with the title and the legend.
const HEAD: f64 = 52.0;

/// The ratios at the ends of the scale; curves beyond are cut off there.
const LEAST: f64 = 0.25;
const MOST: f64 = 16.0;

/// A curve of each panel: its class in the style sheet, and its name.
const CURVES: [(Figure, &str, &str); 3] = [
    (Figure::Wall, "wall", "wall time"),
    (Figure::Cpu, "cpu", "CPU time"),
    (Figure::Third, "third", "third figure"),
];

const STYLE: &str = "\
text{font:11px sans-serif;fill:#374151} .title{font-size:15px;font-weight:bold} \
.case{font-weight:bold} .scale{font-size:9px} .end{text-anchor:end} .middle{text-anchor:middle} \
.grid{stroke:#e5e7eb} .level{stroke:#6b7280} polyline{fill:none;stroke-width:2} \
.wall{stroke:#1d4ed8} .cpu{stroke:#c2410c} .third{stroke:#15803d;stroke-dasharray:5 3} \
@media (prefers-color-scheme:dark){text{fill:#d1d5db} .grid{stroke:#374151} \
.level{stroke:#9ca3af} .wall{stroke:#60a5fa} .cpu{stroke:#fb923c} .third{stroke:#4ade80}}";

/// Draws the rows, which are sorted by case and number of workers.
pub fn draw(rows: &[Row]) -> String {
    let panels: Vec<&[Row]> = rows.chunk_by(|a, b| a.case == b.case).collect();
    let width = COLUMNS as f64 * PANEL_WIDTH;
    let height = HEAD + panels.len().div_ceil(COLUMNS) as f64 * PANEL_HEIGHT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n"
    );
    draw_head(&mut out);
    for (nth, panel) in panels.into_iter().enumerate() {
        let (column, line) = (nth % COLUMNS, nth / COLUMNS);
        let (x, y) = (column as f64 * PANEL_WIDTH, HEAD + line as f64 * PANEL_HEIGHT);
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        draw_panel(&mut out, panel);
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

fn draw_head(out: &mut String) {
    let title = "Tokio's time divided by Wakeful's, over the number of workers (above 1: faster)";
    text(out, 10.0, 20.0, "title", title);
    for (nth, (_, class, name)) in CURVES.into_iter().enumerate() {
        let x = 10.0 + nth as f64 * 130.0;
        polyline(out, class, &[(x, 38.0), (x + 24.0, 38.0)]);
        text(out, x + 30.0, 42.0, "", name);
    }
}

fn draw_panel(out: &mut String, rows: &[Row]) {
    text(out, LEFT, ABOVE - 8.0, "case", &rows[0].case);
    let mut ratio = LEAST;
    while ratio <= MOST {
        let (class, y) = (if ratio == 1.0 { "level" } else { "grid" }, y_of(ratio));
        line(out, class, (LEFT, y), (PANEL_WIDTH - RIGHT, y));
        text(out, LEFT - 4.0, y + 3.0, "scale end", &format!("{ratio}"));
        ratio *= 4.0;
    }
    for row in rows {
        let label = row.workers.to_string();
        text(out, x_of(row.workers, rows), PANEL_HEIGHT - BELOW + 12.0, "scale middle", &label);
    }
    for (figure, class, _) in CURVES {
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| Some((x_of(row.workers, rows), y_of(row.ratio(figure)?.median))))
            .collect();
        polyline(out, class, &points);
    }
}

fn x_of(workers: u32, rows: &[Row]) -> f64 {
    let log2 = |workers: u32| f64::from(workers).log2();
    let (first, last) = (log2(rows[0].workers), log2(rows[rows.len() - 1].workers));
    let share = if last > first { (log2(workers) - first) / (last - first) } else { 0.5 };
    LEFT + 6.0 + share * (PANEL_WIDTH - RIGHT - LEFT - 12.0)
}

fn y_of(ratio: f64) -> f64 {
    let share = (ratio.clamp(LEAST, MOST) / LEAST).log2() / (MOST / LEAST).log2();
    PANEL_HEIGHT - BELOW - share * (PANEL_HEIGHT - BELOW - ABOVE)
}

fn polyline(out: &mut String, class: &str, points: &[(f64, f64)]) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{words}</text>");
}
