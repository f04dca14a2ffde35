//! A picture of latencies beside blocked workers: for each case of `blocking_abuse`, the range from
//! p50 to p99 of either runtime, on a logarithmic scale.
//!
//! The picture has no background, and colours for light and for dark pages.

use std::fmt::Write;

use super::sources::Sources;

#[cfg(test)]
mod tests;

/// The language of the words in a picture.
#[derive(Clone, Copy)]
pub enum Language {
    English,
    Chinese,
}

use Language::{Chinese, English};

const WIDTH: f64 = 760.0;
/// Where the scale starts and ends.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 730.0;
/// The space above the first case, and the height of each.
const HEAD: f64 = 74.0;
const ROW: f64 = 44.0;

/// The ends of the scale, in microseconds.
const LEAST: f64 = 10.0;
const MOST: f64 = 10_000_000.0;

/// A case, its metrics in bench/RESULTS.md, and its name in both languages.
struct Case {
    name: &'static str,
    metrics: [&'static str; 2],
    words: [&'static str; 2],
}

const CASES: [Case; 5] = [
    Case {
        name: "echo",
        metrics: ["latency-p50", "latency-p99"],
        words: ["Echo server, 2 tasks block", "回显服务，2 个任务阻塞"],
    },
    Case {
        name: "http",
        metrics: ["latency-p50", "latency-p99"],
        words: ["HTTP server (hyper), 2 tasks block", "HTTP 服务（hyper），2 个任务阻塞"],
    },
    Case {
        name: "2_sleepers",
        metrics: ["p50", "p99"],
        words: ["1 ms interval, 2 tasks block", "1 ms 定时器，2 个任务阻塞"],
    },
    Case {
        name: "8_sleepers",
        metrics: ["p50", "p99"],
        words: ["1 ms interval, 8 tasks block", "1 ms 定时器，8 个任务阻塞"],
    },
    Case {
        name: "2_loops",
        metrics: ["p50", "p99"],
        words: ["1 ms interval, 2 tasks compute", "1 ms 定时器，2 个任务持续计算"],
    },
];

const RUNTIMES: [(&str, &str, &str); 2] =
    [("tokio-mt", "tokio", "Tokio"), ("wakeful-mt", "wakeful", "Wakeful")];

const SCALE: [(f64, &str); 7] = [
    (1e1, "10 µs"),
    (1e2, "100 µs"),
    (1e3, "1 ms"),
    (1e4, "10 ms"),
    (1e5, "100 ms"),
    (1e6, "1 s"),
    (1e7, "10 s"),
];

const STYLE: &str = "\
text{font:12px sans-serif;fill:#374151} .title{font-size:15px;font-weight:bold} \
.scale{font-size:10px} .end{text-anchor:end} .middle{text-anchor:middle} \
.grid{stroke:#e5e7eb} .range{stroke-width:8;stroke-linecap:round} \
.tokio{stroke:#c2410c} .wakeful{stroke:#1d4ed8} \
@media (prefers-color-scheme:dark){text{fill:#d1d5db} .grid{stroke:#374151} \
.tokio{stroke:#fb923c} .wakeful{stroke:#60a5fa}}";

/// Draws the picture.
pub fn draw(sources: &Sources, language: Language) -> Result<String, String> {
    let height = HEAD + CASES.len() as f64 * ROW + 30.0;
    let title = match language {
        English => "Latency while tasks block or compute (p50 to p99)",
        Chinese => "任务阻塞或持续计算时的延迟（p50 到 p99）",
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n"
    );
    draw_head(&mut out, title, language);
    draw_scale(&mut out, height - 30.0);
    for (nth, case) in CASES.iter().enumerate() {
        let y = HEAD + nth as f64 * ROW;
        let words = case.words[if matches!(language, English) { 0 } else { 1 }];
        text(&mut out, (LEFT - 12.0, y + 20.0), "end", words);
        for (lane, (runtime, class, _)) in RUNTIMES.iter().enumerate() {
            let y = y + 8.0 + lane as f64 * 16.0;
            let [p50, p99] = case.metrics.map(|metric| {
                sources.figure(&format!("blocking_abuse/{} {metric} {runtime}", case.name))
            });
            let (p50, p99) = (p50?.value, p99?.value);
            line(&mut out, &format!("range {class}"), (x_of(p50), y), (x_of(p99), y));
            text(&mut out, (x_of(p99) + 9.0, y + 4.0), "", &time(p99));
        }
    }
    Ok(out + "</svg>\n")
}

fn draw_head(out: &mut String, title: &str, language: Language) {
    let about = match language {
        English => "Multi-thread runtimes, 2 workers on 2 CPUs; logarithmic; the number is the p99",
        Chinese => "多线程运行时，2 个 CPU 上的 2 个 worker；对数坐标；数字为 p99",
    };
    text(out, (10.0, 20.0), "title", title);
    text(out, (10.0, 40.0), "", about);
    for (nth, (_, class, name)) in RUNTIMES.iter().enumerate() {
        let x = 14.0 + nth as f64 * 90.0;
        line(out, &format!("range {class}"), (x, 56.0), (x + 20.0, 56.0));
        text(out, (x + 30.0, 60.0), "", name);
    }
}

fn draw_scale(out: &mut String, bottom: f64) {
    for (value, label) in SCALE {
        line(out, "grid", (x_of(value), HEAD - 6.0), (x_of(value), bottom));
        text(out, (x_of(value), bottom + 16.0), "scale middle", label);
    }
}

fn x_of(us: f64) -> f64 {
    let share = (us.clamp(LEAST, MOST) / LEAST).log10() / (MOST / LEAST).log10();
    LEFT + share * (RIGHT - LEFT)
}

/// Formats a time given in microseconds.
fn time(us: f64) -> String {
    match us {
        _ if us >= 999_500.0 => format!("{:.1} s", us / 1e6),
        _ if us >= 9950.0 => format!("{:.0} ms", us / 1e3),
        _ if us >= 999.5 => format!("{:.1} ms", us / 1e3),
        _ => format!("{us:.0} µs"),
    }
}

fn line(out: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, words: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(out, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}
