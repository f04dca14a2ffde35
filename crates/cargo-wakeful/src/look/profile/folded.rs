//! Folded stacks: a line per stack, `outer;inner count`, which tools for flame graphs read.

use super::stacks::{Profile, Sample};

#[cfg(test)]
mod tests;

/// Returns the text. The outermost frame is the kind of time, and counts are microseconds.
pub fn fold(profile: &Profile) -> String {
    profile.samples.iter().map(line).collect()
}

fn line(sample: &Sample) -> String {
    let mut line = sample.time.name().to_owned();
    for frame in &sample.stack {
        line.push(';');
        // What would end the frame or the line in the reader's eyes.
        line.extend(frame.label().chars().map(|c| match c {
            ';' => ',',
            c if c.is_control() => '\u{fffd}',
            c => c,
        }));
    }
    format!("{line} {}\n", sample.us)
}
