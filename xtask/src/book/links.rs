//! Relative links and anchors.

use std::path::{Component, Path, PathBuf};

use super::{Pages, Problem};
use crate::repo::Files;

/// Checks the relative links of all Markdown files of the repository: a page elsewhere may link to
/// the guide.
pub fn check(files: &Files, pages: &Pages) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, page) in pages {
        for link in page.links.iter().filter(|link| is_relative(&link.target)) {
            if let Err(why) = resolve(files, pages, path, &link.target) {
                problems.push(Problem::new(path, link.line, why));
            }
        }
    }
    problems
}

pub fn is_relative(target: &str) -> bool {
    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
}

fn resolve(files: &Files, pages: &Pages, from: &Path, target: &str) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = from.parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { from.to_owned() } else { normal(&folder.join(path)) };
    let exists = files.contains_key(&path)
        || files.keys().any(|file| file != &path && file.starts_with(&path));
    if !exists {
        return Err(format!("there is no file `{}` (link `{target}`)", path.display()));
    }
    if anchor.is_empty() {
        return Ok(());
    }
    match pages.get(&path) {
        Some(page) if page.anchors().contains(anchor) => Ok(()),
        Some(_) => Err(format!("`{}` has no heading for `#{anchor}`", path.display())),
        None => Err(format!("`{}` has no anchors: it is not a Markdown file", path.display())),
    }
}

/// Removes `.` and `..` from a path.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}
