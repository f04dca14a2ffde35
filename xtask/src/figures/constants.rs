//! Numbers of the documents that are constants of the code, not measurements.

use std::path::Path;

use super::page::outside_fences;
use crate::repo::Files;

#[cfg(test)]
mod tests;

const LIST: &str = "xtask/src/figures/constants.txt";

/// The numbers that need no comment, with their units, such as `2 ms`.
#[derive(Default)]
pub struct Constants(Vec<String>);

impl Constants {
    /// Reads the list, and returns it with a message for each line whose code is not there.
    pub fn read(files: &Files) -> (Constants, Vec<String>) {
        let list = files.get(Path::new(LIST)).map(String::as_str).unwrap_or_default();
        let (mut constants, mut stale) = (Constants::default(), Vec::new());
        let entries = outside_fences(list).filter(|(_, line)| !line.starts_with('#'));
        for (line, entry) in entries.filter(|(_, line)| !line.trim().is_empty()) {
            let parts: Vec<&str> = entry.splitn(3, " | ").map(str::trim).collect();
            let [number, path, code] = parts[..] else {
                stale.push(format!("{LIST}:{line}: expected `number | file | code`"));
                continue;
            };
            if files.get(Path::new(path)).is_some_and(|text| text.contains(code)) {
                constants.0.push(number.to_owned());
            } else {
                stale.push(format!("{LIST}:{line}: `{code}` is not in {path}"));
            }
        }
        (constants, stale)
    }

    /// Returns whether `number` with `unit` is in the list.
    pub fn contain(&self, number: &str, unit: &str) -> bool {
        self.0.iter().any(|known| *known == format!("{number} {unit}"))
    }

    #[cfg(test)]
    pub fn of(numbers: &[&str]) -> Constants {
        Constants(numbers.iter().map(|number| (*number).to_owned()).collect())
    }
}
