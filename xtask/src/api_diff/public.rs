//! All public paths of a crate, found by walking its modules and following re-exports.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::crates::{Crates, Definition, Item, Target};

/// The maximum depth of the walk, greater than that of any module. It ends the walk if re-exports
/// form a cycle.
const DEPTH_MAX: usize = 12;

/// The public paths and their items.
#[derive(Default)]
pub struct Public<'a> {
    /// The items at each path: a module, a macro and a function may share one.
    pub entries: BTreeMap<String, Vec<Entry<'a>>>,
    paths_of: HashMap<Definition, BTreeSet<String>>,
}

pub struct Entry<'a> {
    pub target: Target<'a>,
    /// Whether the item or a module around it is hidden from the documentation.
    pub hidden: bool,
}

impl<'a> Public<'a> {
    pub fn of(crates: &'a Crates, krate: &'a str) -> Result<Public<'a>, String> {
        let root = crates.root(krate).ok_or_else(|| format!("rustdoc did not describe {krate}"))?;
        let mut public = Public::default();
        public.walk(crates, root, krate, false, 0);
        Ok(public)
    }

    /// Returns all public paths.
    pub fn paths(&self) -> BTreeSet<String> {
        self.entries.keys().cloned().collect()
    }

    /// Returns the public paths that are hidden from the documentation.
    pub fn hidden_paths(&self) -> BTreeSet<&str> {
        let hidden = self.entries.iter().filter(|(_, all)| all.iter().all(|entry| entry.hidden));
        hidden.map(|(path, _)| path.as_str()).collect()
    }

    /// Returns the public path that represents an item: one in `preferred` if possible, otherwise
    /// the shortest.
    pub fn name_of(&self, definition: &Definition, preferred: &BTreeSet<String>) -> Option<&str> {
        let paths = self.paths_of.get(definition)?;
        let rank = |path: &&String| (!preferred.contains(*path), path.len());
        paths.iter().min_by_key(rank).map(String::as_str)
    }

    fn walk(
        &mut self,
        crates: &'a Crates,
        module: Item<'a>,
        path: &str,
        hidden: bool,
        depth: usize,
    ) {
        if depth > DEPTH_MAX {
            return;
        }
        let (_, inner) = module.inner();
        for item in crates.items(module.krate, &inner["items"]) {
            if !item.is_public() {
                continue;
            }
            let hidden = hidden || item.is_hidden();
            let (kind, inner) = item.inner();
            if kind != "use" {
                let path = format!("{path}::{}", item.name());
                self.add(crates, Target::Described(item), &path, hidden, depth);
                continue;
            }
            let target = crates.target(item.krate, &inner["id"]);
            if !inner["is_glob"].is_true() {
                let path = format!("{path}::{}", inner["name"].text());
                self.add(crates, target, &path, hidden, depth);
            } else if let Target::Described(module) = target {
                self.walk(crates, module, path, hidden, depth + 1);
            }
        }
    }

    fn add(
        &mut self,
        crates: &'a Crates,
        target: Target<'a>,
        path: &str,
        hidden: bool,
        depth: usize,
    ) {
        let definition = match &target {
            Target::Described(item) => crates.definition(item.krate, item.id()),
            Target::Foreign(definition) => Some(definition.clone()),
            Target::Unknown => None,
        };
        if let Some(definition) = definition {
            self.paths_of.entry(definition).or_default().insert(path.to_owned());
        }
        if let Target::Described(item) = target {
            let hidden = hidden || item.is_hidden();
            if item.inner().0 == "module" {
                self.walk(crates, item, path, hidden, depth + 1);
            }
            let entries = self.entries.entry(path.to_owned()).or_default();
            entries.push(Entry { target: Target::Described(item), hidden });
        } else {
            self.entries.entry(path.to_owned()).or_default().push(Entry { target, hidden });
        }
    }
}
