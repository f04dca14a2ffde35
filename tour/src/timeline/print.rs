//! A timeline as a table.
//!
//! A future that is polled inside another's `poll` is indented below it. What repeats itself
//! without end, as a busy loop does, is printed once, with how often it came again.
//!
//! 把时间线打印成表：在别人的 `poll` 里被轮询的，缩进一层；没完没了重复的，只打印一次，再注明重复了
//! 多少次。

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use super::{Entry, Event, Timeline};
use crate::lang::Lang;

/// The longest run of lines that is looked at for repetition.
const PATTERN_LINES_MAX: usize = 8;
/// Fewer repetitions are printed as they are.
const REPEATS_MIN: usize = 3;

/// A timeline that is printed in a language of choice.
pub struct Printed<'t> {
    timeline: &'t Timeline,
    lang: Lang,
}

impl Timeline {
    /// Returns the timeline for printing in `lang`.
    pub fn printed_in(&self, lang: Lang) -> Printed<'_> {
        Printed { timeline: self, lang }
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.printed_in(Lang::English).fmt(f)
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<Line> = lines(&self.timeline.entries());
        // The texts are at least as wide as the English names of their columns, so that a line is
        // as long in one language as in the other, up to its last column.
        let widest = |texts: fn(&Line) -> &str, least: usize| {
            lines.iter().map(|line| width(texts(line))).fold(least, usize::max)
        };
        let thread_width = widest(|line| &line.thread, "thread".len());
        let who_width = widest(|line| &line.who, "who".len());
        let lang = self.lang;

        let row = |f: &mut fmt::Formatter<'_>, [at, thread, who, what]: [&str; 4]| {
            let (at, thread) = (pad_left(at, 10), pad_right(thread, thread_width));
            writeln!(f, "{at}  {thread}  {}  {}", pad_right(who, who_width), lang.translate(what))
        };

        let heads = ["time", "thread", "who"].map(|head| lang.translate(head));
        row(f, [&heads[0], &heads[1], &heads[2], "what"])?;
        let mut at = 0;
        while at < lines.len() {
            if lines[at].is_title {
                writeln!(f, "\n{}", lang.translate(&lines[at].what))?;
                at += 1;
                continue;
            }
            let Repetition { pattern, repeats } = repetition(&lines[at..]);
            for line in &lines[at..at + pattern] {
                row(f, [&ms(line.at), &line.thread, &line.who, &line.what])?;
            }
            if repeats > 0 {
                at += pattern * repeats;
                let last = ms(lines[at + pattern - 1].at);
                let what = if pattern == 1 { "this" } else { &format!("these {pattern} lines") };
                let again = format!("{what} {repeats} times more, until {last}");
                writeln!(f, "{:>10}  {}", "...", lang.translate(&again))?;
            }
            at += pattern;
        }
        Ok(())
    }
}

/// An entry as it is printed.
struct Line {
    at: Duration,
    thread: String,
    who: String,
    what: String,
    is_title: bool,
}

impl Line {
    /// Whether both say the same, whenever they do.
    fn is_again(&self, other: &Line) -> bool {
        !self.is_title
            && (&self.thread, &self.who, &self.what) == (&other.thread, &other.who, &other.what)
    }
}

fn lines(entries: &[Entry]) -> Vec<Line> {
    // How many polls are under way on each thread.
    let mut depths: HashMap<&str, usize> = HashMap::new();
    let line = |entry: &'_ Entry, depth: usize| Line {
        at: entry.at,
        thread: entry.thread.clone(),
        who: format!("{:1$}{2}", "", 2 * depth, entry.who),
        what: entry.event.to_string(),
        is_title: false,
    };
    let mut lines = Vec::new();
    for entry in entries {
        let depth = depths.entry(&entry.thread).or_default();
        match entry.event {
            Event::Scene => {
                depths.clear();
                let (thread, who) = (String::new(), String::new());
                let what = entry.who.clone();
                lines.push(Line { at: entry.at, thread, who, what, is_title: true });
            }
            Event::Polled => {
                lines.push(line(entry, *depth));
                *depth += 1;
            }
            Event::Pending | Event::Ready(_) | Event::Panicked(_) => {
                *depth = depth.saturating_sub(1);
                lines.push(line(entry, *depth));
            }
            _ => lines.push(line(entry, *depth)),
        }
    }
    lines
}

/// How lines repeat: a pattern, and how often it comes again.
struct Repetition {
    pattern: usize,
    repeats: usize,
}

/// The shortest pattern at the head of `lines` that is repeated often enough to fold.
fn repetition(lines: &[Line]) -> Repetition {
    for pattern in 1..=PATTERN_LINES_MAX.min(lines.len()) {
        let again = lines.iter().skip(pattern).zip(lines).take_while(|(a, b)| a.is_again(b));
        let repeats = again.count() / pattern;
        if repeats >= REPEATS_MIN {
            return Repetition { pattern, repeats };
        }
    }
    Repetition { pattern: 1, repeats: 0 }
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn pad_left(text: &str, columns: usize) -> String {
    format!("{:1$}{text}", "", columns.saturating_sub(width(text)))
}

fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{:1$}", "", columns.saturating_sub(width(text)))
}

/// Returns how many columns a terminal takes for `text`: two for each Chinese character.
fn width(text: &str) -> usize {
    text.chars().map(|c| if matches!(c, '\u{2e80}'..='\u{ffe6}') { 2 } else { 1 }).sum()
}
