//! Checks that the top-level modules of a crate do not depend on each other in a cycle.
//!
//! A module depends on another if its code, except tests, names it: by `crate::other::…`, by a
//! `super::` path that leads out of its own top-level module, or by a name that the crate root
//! re-exports from there. The root itself may name every module.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::Report;
use crate::repo::{Files, Package};
use crate::rust::modules::{self, Module};
use crate::rust::source::Source;

#[cfg(test)]
mod tests;

/// For each module, the modules that it names, with the first file and line of each.
type Graph = BTreeMap<String, BTreeMap<String, (PathBuf, usize)>>;

pub fn check(files: &Files, packages: &[Package], report: &mut Report) {
    for package in packages {
        for root in package.roots(files) {
            let graph = graph(&root, files);
            for group in cyclic_groups(&graph) {
                let cycle = group.iter().filter_map(|start| shortest_cycle(&graph, start));
                let cycle =
                    cycle.min_by_key(Vec::len).expect("modules that reach each other form a cycle");
                let steps = cycle.windows(2).map(|step| {
                    let (file, line) = &graph[&step[0]][&step[1]];
                    format!("{} -> {} ({}:{line})", step[0], step[1], file.display())
                });
                let message = format!(
                    "top-level modules form a cycle: {}; all modules that depend on each other: {}",
                    steps.collect::<Vec<_>>().join(", "),
                    group.into_iter().collect::<Vec<_>>().join(", "),
                );
                let (file, line) = &graph[&cycle[0]][&cycle[1]];
                report.problem(file, *line, message);
            }
        }
    }
}

/// Returns the groups of modules that can all reach each other.
fn cyclic_groups(graph: &Graph) -> Vec<BTreeSet<String>> {
    let mut cyclic_groups: Vec<BTreeSet<String>> = Vec::new();
    for start in graph.keys() {
        if cyclic_groups.iter().any(|group| group.contains(start)) {
            continue;
        }
        let there = reachable(graph, start).into_iter();
        let and_back = there.filter(|other| reachable(graph, other).contains(start));
        let group: BTreeSet<String> = and_back.collect();
        if !group.is_empty() {
            cyclic_groups.push(group);
        }
    }
    cyclic_groups
}

fn reachable(graph: &Graph, start: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flat_map(|targets| targets.keys()) {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

/// Searches, breadth first, for the shortest path from `start` back to itself.
fn shortest_cycle(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut came_from = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(module) = open.pop_front() {
        for next in graph.get(module).into_iter().flat_map(|targets| targets.keys()) {
            if !came_from.contains_key(next.as_str()) {
                came_from.insert(next.as_str(), module);
                open.push_back(next);
            }
        }
    }
    let mut cycle = vec![start.to_owned()];
    let mut at = *came_from.get(start)?;
    while at != start {
        cycle.push(at.to_owned());
        at = came_from[at];
    }
    cycle.push(start.to_owned());
    cycle.reverse();
    Some(cycle)
}

fn graph(root: &Path, files: &Files) -> Graph {
    let modules = modules::tree(root, files);
    let tops: BTreeSet<&str> =
        modules.iter().filter(|m| m.path.len() == 1).map(|m| m.path[0].as_str()).collect();
    let exports = files.get(root).map(|text| exports(&Source::new(root, text), &modules));
    let exports = exports.unwrap_or_default();
    let mut graph = Graph::new();
    for file in modules.iter().filter(|module| module.body.is_none() && !module.test_only) {
        let source = Source::new(&file.file, &files[&file.file]);
        let test_ranges = source.only_with("test");
        for at in 0..source.tokens.len() {
            if !starts_path(&source, at) || test_ranges.iter().any(|range| range.contains(&at)) {
                continue;
            }
            let Some(module) = modules::module_at(&modules, source.path, at) else {
                continue;
            };
            let Some(from) = module.path.first() else {
                continue;
            };
            let mut leaves = Vec::new();
            use_leaves(&source, at, &module.path, &mut leaves);
            for first in leaves.iter().filter_map(|leaf| leaf.path.first()) {
                let first = first.as_str();
                let to = if tops.contains(first) { Some(first) } else { None };
                let to = to.or_else(|| exports.get(first).map(String::as_str));
                if let Some(to) = to.filter(|to| to != from) {
                    let place = (source.path.to_owned(), source.tokens[at].line);
                    let targets = graph.entry(from.clone()).or_default();
                    targets.entry(to.to_owned()).or_insert(place);
                }
            }
        }
    }
    graph
}

/// Returns whether token `at` is a `crate` or `super` that starts a path.
fn starts_path(source: &Source<'_>, at: usize) -> bool {
    let is_start = matches!(source.text(at), "crate" | "super") && source.text(at + 1) == "::";
    let is_middle = at > 0 && source.text(at - 1) == "::";
    // `pub(in crate::a)` grants visibility and is not a use.
    let is_visibility = at > 2 && source.matches(at - 3, &["pub", "(", "in"]);
    is_start && !is_middle && !is_visibility
}

/// A leaf of a `use` tree: the path it imports and the name it gets.
struct Leaf {
    path: Vec<String>,
    name: String,
}

/// Collects the leaves of the `use` tree at token `at`, relative to module `base`, and returns the
/// index of the token after the tree.
fn use_leaves(source: &Source<'_>, at: usize, base: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let mut path = base.to_vec();
    let mut at = at;
    loop {
        match source.text(at) {
            "crate" => path.clear(),
            "super" => {
                path.pop();
            }
            "self" => {}
            "{" => {
                let end = source.partner(at);
                at += 1;
                while at < end {
                    at = use_leaves(source, at, &path, leaves);
                    // Skips to the next element, past tokens that were not parsed.
                    while at < end && source.text(at) != "," {
                        at += 1;
                    }
                    at += 1;
                }
                return end + 1;
            }
            name if source.is_ident(at) => path.push(name.to_owned()),
            // A glob import of a module names that module; one of the root names no particular
            // module.
            _ => break,
        }
        at += 1;
        if source.text(at) != "::" {
            break;
        }
        at += 1;
    }
    let alias = if source.text(at) == "as" { source.text(at + 1) } else { "" };
    let own_name = path.last().map_or("", String::as_str);
    let name = if alias.is_empty() { own_name } else { alias }.to_owned();
    leaves.push(Leaf { path, name });
    at
}

/// Returns the names that the root file re-exports with `use`, and the top-level module of each.
fn exports(source: &Source<'_>, modules: &[Module]) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for at in (0..source.tokens.len()).filter(|&at| source.text(at) == "use") {
        let module = modules::module_at(modules, source.path, at);
        if module.is_none_or(|module| !module.path.is_empty()) {
            continue;
        }
        let mut leaves = Vec::new();
        use_leaves(source, at + 1, &[], &mut leaves);
        for leaf in leaves.into_iter().filter(|leaf| leaf.path.len() > 1) {
            let home = leaf.path[0].clone();
            if modules.iter().any(|module| module.path[..] == [home.as_str()]) {
                exports.insert(leaf.name, home);
            }
        }
    }
    exports
}
