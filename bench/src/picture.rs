//! A picture of the results: a bar for each case, from Tokio's line to Wakeful's ratio.
//!
//! It is one SVG file, written by hand. The scale of ratios is logarithmic, so that twice as good
//! and half as good have the same distance from Tokio's line.

use crate::goals::GOALS;
use crate::results::Row;
use std::fmt::Write;

const WIDTH: f64 = 920.0;
/// Left of this are names, right of it bars.
const PLOT_LEFT: f64 = 250.0;
/// Right of this are figures.
const PLOT_RIGHT: f64 = WIDTH - 80.0;
const TOP: f64 = 96.0;
const GROUP_HEIGHT: f64 = 26.0;
const CASE_HEIGHT: f64 = 34.0;
const BAR_HEIGHT: f64 = 12.0;

struct Flavour {
    contender: &'static str,
    ahead: &'static str,
    behind: &'static str,
}

const FLAVOURS: [Flavour; 2] = [
    Flavour { contender: "wakeful-mt", ahead: "#1d4ed8", behind: "#b91c1c" },
    Flavour { contender: "wakeful-ct", ahead: "#7dabf8", behind: "#f19999" },
];

/// Draws the headline metric of each case.
pub fn draw(rows: &[Row]) -> String {
    let by_case = rows.chunk_by(|a, b| a.case.name == b.case.name);
    let rows: Vec<&Row> = by_case.filter_map(headline).collect();
    let axis = Axis::over(&rows);

    let mut body = String::new();
    let mut y = TOP;
    for group in rows.chunk_by(|a, b| a.case.group() == b.case.group()) {
        y += GROUP_HEIGHT;
        text(&mut body, 16.0, y - 7.0, "group", group[0].case.group());
        for row in group {
            draw_case(&mut body, &axis, row, y);
            y += CASE_HEIGHT;
        }
    }
    let height = y + 16.0;
    let mut head = String::new();
    draw_head(&mut head, &axis, height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n\
         <style>text{{font:12px sans-serif;fill:#1f2937}} .title{{font-size:16px;font-weight:bold}} \
         .group{{font-weight:bold}} .unit,.scale{{font-size:10px;fill:#6b7280}} \
         .name,.unit,.ratio{{text-anchor:end}} .scale{{text-anchor:middle}} \
         .ratio{{font-size:11px}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{head}{body}</svg>\n"
    )
}

fn headline<'r, 'a>(rows_of_case: &'r [Row<'a>]) -> Option<&'r Row<'a>> {
    let mut rows = rows_of_case.iter().enumerate();
    rows.find(|(nth, row)| row.case.is_about(&row.metric, *nth)).map(|(_, row)| row)
}

/// Maps ratios to positions.
struct Axis {
    least_log2: f64,
    most_log2: f64,
}

impl Axis {
    /// Spans whole powers of two that contain all ratios.
    fn over(rows: &[&Row]) -> Axis {
        let (mut least_log2, mut most_log2) = (-1.0, 2.0);
        for ratio in rows.iter().flat_map(|row| drawn_ratios(row)) {
            least_log2 = ratio.log2().floor().min(least_log2);
            most_log2 = ratio.log2().ceil().max(most_log2);
        }
        Axis { least_log2, most_log2 }
    }

    fn x(&self, ratio: f64) -> f64 {
        let share = (ratio.log2() - self.least_log2) / (self.most_log2 - self.least_log2);
        PLOT_LEFT + share * (PLOT_RIGHT - PLOT_LEFT)
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        (self.least_log2 as i32..=self.most_log2 as i32).map(|power| 2f64.powi(power))
    }
}

fn drawn_ratios(row: &Row) -> Vec<f64> {
    let ours = FLAVOURS.iter().filter_map(|flavour| row.ratio_of(flavour.contender));
    let ratios = ours.chain(goal_ratio(row)).chain(best_peer_ratio(row));
    ratios.filter(|&ratio| ratio > 0.0).collect()
}

fn goal_ratio(row: &Row) -> Option<f64> {
    let goal = GOALS.iter().find(|g| g.case == row.case.name && g.metric == row.metric)?;
    Some(goal.ratio(row.better))
}

fn best_peer_ratio(row: &Row) -> Option<f64> {
    row.ratio_between(row.best_peer()?.name, "tokio-mt")
}

fn draw_head(out: &mut String, axis: &Axis, height: f64) {
    text(out, 16.0, 26.0, "title", "How many times as good as Tokio");
    let mut x = 16.0;
    for (flavour, beside) in FLAVOURS.iter().zip(["tokio-mt", "tokio-ct"]) {
        rect(out, x, 40.0, 12.0, flavour.ahead);
        rect(out, x + 14.0, 40.0, 12.0, flavour.behind);
        let label = format!("{}, ahead of or behind {beside}", flavour.contender);
        text(out, x + 32.0, 50.0, "", &label);
        x += 290.0;
    }
    line(out, 606.0, 39.0, 53.0, "#111827", 2.0);
    text(out, 614.0, 50.0, "", "goal");
    dot(out, 656.0, 46.0);
    text(out, 666.0, 50.0, "", "best peer beside tokio-mt");
    for ratio in axis.marks() {
        let is_tokio = ratio == 1.0;
        let (colour, width) = if is_tokio { ("#111827", 1.5) } else { ("#e5e7eb", 1.0) };
        line(out, axis.x(ratio), TOP - 8.0, height - 12.0, colour, width);
        text(out, axis.x(ratio), TOP - 14.0, "scale", &format!("{ratio}x"));
    }
}

fn draw_case(out: &mut String, axis: &Axis, row: &Row, y: f64) {
    text(out, PLOT_LEFT - 12.0, y + 11.0, "name", row.case.short_name());
    text(out, PLOT_LEFT - 12.0, y + 23.0, "unit", &format!("{}, {}", row.metric, row.unit));
    for (nth, flavour) in FLAVOURS.iter().enumerate() {
        let Some(ratio) = row.ratio_of(flavour.contender).filter(|&ratio| ratio > 0.0) else {
            continue;
        };
        let bar_y = y + nth as f64 * (BAR_HEIGHT + 1.0);
        let (from, to) = (axis.x(1.0), axis.x(ratio));
        let colour = if ratio >= 1.0 { flavour.ahead } else { flavour.behind };
        rect(out, from.min(to), bar_y, (to - from).abs().max(1.0), colour);
        text(out, WIDTH - 12.0, bar_y + 10.0, "ratio", &format!("{ratio:.2}x"));
    }
    if let Some(ratio) = best_peer_ratio(row) {
        dot(out, axis.x(ratio), y + BAR_HEIGHT);
    }
    if let Some(ratio) = goal_ratio(row) {
        line(out, axis.x(ratio), y - 2.0, y + BAR_HEIGHT + 2.0, "#111827", 2.0);
    }
}

fn rect(out: &mut String, x: f64, y: f64, width: f64, colour: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR_HEIGHT}\" fill=\"{colour}\"/>"
    );
}

fn line(out: &mut String, x: f64, from_y: f64, to_y: f64, colour: &str, width: f64) {
    let _ = writeln!(
        out,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{from_y:.1}\" y2=\"{to_y:.1}\" stroke=\"{colour}\" \
         stroke-width=\"{width}\"/>"
    );
}

fn dot(out: &mut String, x: f64, y: f64) {
    let _ = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#f59e0b\" stroke=\"#ffffff\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::record;
    use crate::results::tests::{case, wall};
    use crate::suite::Contender;

    #[test]
    fn tokio_is_at_one_and_the_scale_is_logarithmic() {
        let axis = Axis { least_log2: -2.0, most_log2: 2.0 };
        let tokio = axis.x(1.0);
        assert_eq!(axis.x(2.0) - tokio, tokio - axis.x(0.5));
        assert_eq!((axis.x(0.25), axis.x(4.0)), (PLOT_LEFT, PLOT_RIGHT));
        assert_eq!(axis.marks().collect::<Vec<_>>(), [0.25, 0.5, 1.0, 2.0, 4.0]);
    }

    #[test]
    fn the_axis_has_room_for_every_bar() {
        let (case, tokio) = (case(), Contender::new("tokio-mt", &[]));
        let ours = Contender::new("wakeful-mt", &[]).against("tokio-mt");
        let mut rows = Vec::new();
        record(&mut rows, &case, &tokio, wall(90.0));
        record(&mut rows, &case, &ours, wall(1.0));
        let axis = Axis::over(&[&rows[0]]);
        assert_eq!((axis.least_log2, axis.most_log2), (-1.0, 7.0));
        assert!(draw(&rows).contains(">90.00x</text>"));
    }
}
