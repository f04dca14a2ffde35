//! Options of the form `--name value`, for the tasks that pass them on to a program.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// The options that a task was called with.
pub struct Options<'a> {
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Options<'a> {
    /// Parses `args`, which may contain only the options in `names`.
    pub fn parse(args: &[&'a str], names: &[&str]) -> Result<Options<'a>, String> {
        let mut given = Vec::new();
        for pair in args.chunks(2) {
            let name = pair[0].strip_prefix("--").filter(|name| names.contains(name));
            let name = name.ok_or_else(|| {
                format!("unknown option `{}`; the options are --{}", pair[0], names.join(", --"))
            })?;
            let value = pair.get(1).ok_or_else(|| format!("`--{name}` needs a value"))?;
            given.push((name, *value));
        }
        Ok(Options { given })
    }

    /// Returns the value of an option.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| *value)
    }

    /// Returns the value of an option that is a time, such as `500ms`, `30s`, `2m` or `1h`.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = || format!("`--{name} {text}`: expected a time such as 500ms, 30s, 2m or 1h");
        let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u32 = text[..unit_at].parse().map_err(|_| wrong())?;
        let unit = match &text[unit_at..] {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return Err(wrong()),
        };
        Ok(Some(unit * number))
    }

    /// Returns the options in `names`, as arguments for another program.
    pub fn only(&self, names: &[&str]) -> Vec<String> {
        let wanted = self.given.iter().filter(|(name, _)| names.contains(name));
        wanted.flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]).collect()
    }
}

/// Formats a time so that [`Options::duration`] can parse it.
pub fn seconds(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}
