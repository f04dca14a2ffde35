//! Numbers and durations, short enough for a table.

#[cfg(test)]
mod tests;

/// Formats a duration with two or three significant digits: `340µs`, `1.2ms`, `3min20s`.
pub fn duration(us: u64) -> String {
    let seconds = us / 1_000_000;
    match us {
        0..1_000 => format!("{us}µs"),
        1_000..9_950 => format!("{:.1}ms", us as f64 / 1e3),
        9_950..999_500 => format!("{:.0}ms", us as f64 / 1e3),
        999_500..9_950_000 => format!("{:.1}s", us as f64 / 1e6),
        9_950_000..120_000_000 => format!("{:.0}s", us as f64 / 1e6),
        120_000_000..7_200_000_000 => format!("{}min{:02}s", seconds / 60, seconds % 60),
        7_200_000_000..172_800_000_000 => {
            format!("{}h{:02}min", seconds / 3600, seconds / 60 % 60)
        }
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// Formats a number: `812`, `90112`, `1.04M`.
pub fn count(number: u64) -> String {
    match number {
        0..1_000_000 => number.to_string(),
        1_000_000..1_000_000_000 => format!("{:.2}M", number as f64 / 1e6),
        _ => format!("{:.2}G", number as f64 / 1e9),
    }
}

/// Returns a number and a noun: `1 task`, `2 tasks`.
pub fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}
