//! Numbers of the documents that are constants of the code, not measurements.

use std::path::Path;

use super::page::outside_fences;
use crate::repo::Files;

#[cfg(test)]
mod tests;

const LIST: &str = "xtask/src/figures/constants.txt";

/// The numbers that need no comment, with their units, such as `2 ms`.
#[derive(Default)]
pub struct Constants(Vec<Constant>);

struct Constant {
    number: String,
    /// How the paths of the pages start that may use it; empty for all pages.
    pages: String,
}

impl Constants {
    /// Reads the list, and returns it with a message for each line whose code is not there.
    pub fn read(files: &Files) -> (Constants, Vec<String>) {
        let list = files.get(Path::new(LIST)).map(String::as_str).unwrap_or_default();
        let (mut constants, mut stale) = (Constants::default(), Vec::new());
        let entries = outside_fences(list).filter(|(_, line)| !line.starts_with('#'));
        for (line, entry) in entries.filter(|(_, line)| !line.trim().is_empty()) {
            let parts: Vec<&str> = entry.splitn(3, " | ").map(str::trim).collect();
            let [number, place, code] = parts[..] else {
                stale.push(format!("{LIST}:{line}: expected `number | file | code`"));
                continue;
            };
            let pages = place.strip_prefix("in ");
            let is_there = match pages {
                Some(pages) => files.keys().any(|path| is_page(path, pages)),
                None => files.get(Path::new(place)).is_some_and(|text| text.contains(code)),
            };
            if is_there {
                let pages = pages.unwrap_or_default().to_owned();
                constants.0.push(Constant { number: number.to_owned(), pages });
            } else {
                stale.push(format!("{LIST}:{line}: `{code}` is not in {place}"));
            }
        }
        (constants, stale)
    }

    /// Returns whether `number` with `unit` is in the list, for this page.
    pub fn contain(&self, number: &str, unit: &str, page: &Path) -> bool {
        let number = format!("{number} {unit}");
        self.0.iter().any(|known| known.number == number && is_page(page, &known.pages))
    }

    #[cfg(test)]
    pub fn of(numbers: &[&str]) -> Constants {
        let constant =
            |number: &&str| Constant { number: (*number).to_owned(), pages: String::new() };
        Constants(numbers.iter().map(constant).collect())
    }
}

fn is_page(path: &Path, start: &str) -> bool {
    path.to_string_lossy().starts_with(start)
}
