//! What a comment asks for: the name of a figure, and how the number is written.
//!
//! ```text
//! CASE METRIC RUNTIME [ratio]            a figure of bench/RESULTS.md; `-` for a space in METRIC
//! manycore/CASE WORKERS METRIC COLUMN    one of bench/MANYCORE.md: wall, CPU or third, and tokio,
//!                                        wakeful or ratio
//! tests CRATE                            the number of tests of `cargo xtask conformance`
//! ```
//!
//! These words may follow: `/1000` or `/1000000`, to change the unit; `.0`, `.1` or `.2`, the number
//! of decimals. Without it, numbers from 10 on have no decimals, smaller ones one, and those below 1
//! two. A figure whose rounds differ by much is written with `~` in front, as in its source.

use super::sources::Sources;

#[cfg(test)]
mod tests;

/// Returns the number that a comment asks for, as the page should show it.
pub fn answer(comment: &str, sources: &Sources) -> Result<String, String> {
    let mut name = Vec::new();
    let (mut divisor, mut decimals) = (1.0, None);
    for word in comment.split_whitespace() {
        match word {
            "/1000" => divisor = 1e3,
            "/1000000" => divisor = 1e6,
            ".0" => decimals = Some(0),
            ".1" => decimals = Some(1),
            ".2" => decimals = Some(2),
            _ => name.push(word),
        }
    }
    let figure = sources.figure(&name.join(" "))?;
    let value = figure.value / divisor;
    let mark = if figure.is_uncertain { "~" } else { "" };
    Ok(format!("{mark}{}", number(value, decimals)))
}

/// Checks a claim about all cases of some groups in bench/RESULTS.md, or about single cases, such as
/// `sched sync/notify : wall wakeful-mt above 1`: each ratio to Tokio is above, or `below`, that
/// number.
pub fn verify(claim: &str, sources: &Sources) -> Result<(), String> {
    let parts = || -> Option<_> {
        let (groups, condition) = claim.split_once(" : ")?;
        let words: Vec<&str> = condition.split_whitespace().collect();
        let [metric, runtime, relation @ ("above" | "below"), bound] = words[..] else {
            return None;
        };
        Some((groups, format!(" {metric} {runtime} ratio"), relation, bound.parse::<f64>().ok()?))
    };
    let (groups, name, relation, bound) = parts()
        .ok_or("expected `GROUP… : METRIC RUNTIME above NUMBER` or `… below …` in this comment")?;
    for group in groups.split_whitespace() {
        let ratios = sources.of_group(group, &name);
        if ratios.is_empty() {
            return Err(format!("no case of `{group}` has a figure `{}`", name.trim()));
        }
        let holds = |ratio: f64| if relation == "above" { ratio > bound } else { ratio < bound };
        if let Some((case, figure)) = ratios.iter().find(|(_, figure)| !holds(figure.value)) {
            return Err(format!(
                "this sentence is no longer true: `{case}` is {}, not {relation} {bound}",
                figure.value
            ));
        }
    }
    Ok(())
}

fn number(value: f64, decimals: Option<usize>) -> String {
    let usual = if value >= 9.95 {
        0
    } else if value >= 0.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.*}", decimals.unwrap_or(usual));
    let whole = text.find('.').unwrap_or(text.len());
    with_separators(&text[..whole]) + &text[whole..]
}

fn with_separators(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
