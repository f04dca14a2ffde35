//! Checks that every `.rs` file under `src/` belongs to a module: a file that no `mod` names is
//! never compiled.

use std::collections::BTreeSet;
use std::path::Path;

use super::Report;
use crate::repo::{Files, Package};
use crate::rust::modules;

#[cfg(test)]
mod tests;

pub fn check(files: &Files, packages: &[Package], report: &mut Report) {
    for package in packages {
        let src = package.dir.join("src");
        let is_ours = |path: &Path| {
            let home = packages.iter().filter(|p| path.starts_with(&p.dir));
            let home = home.max_by_key(|p| p.dir.components().count());
            home.is_some_and(|home| home.dir == package.dir)
        };
        let mut reached = BTreeSet::new();
        for root in package.roots(files) {
            reached.extend(modules::tree(&root, files).into_iter().map(|module| module.file));
        }
        for path in files.keys() {
            let is_rust = path.extension().is_some_and(|extension| extension == "rs");
            if is_rust && path.starts_with(&src) && !reached.contains(path) && is_ours(path) {
                report.problem(path, 1, "no `mod` names this file, so it is never compiled");
            }
        }
    }
}
