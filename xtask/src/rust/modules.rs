//! The module tree of a crate, followed from its root file like the compiler does.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use super::source::Source;

#[cfg(test)]
mod tests;

/// A module: a file, or a `mod x { … }` inside one.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The names of the modules below the crate root; empty for the root.
    pub path: Vec<String>,
    pub file: PathBuf,
    /// Whether it is compiled for tests only.
    pub test_only: bool,
    /// Whether it is compiled under loom only.
    pub loom_only: bool,
    /// The tokens of an inline module's body, or `None` for a whole file.
    pub body: Option<Range<usize>>,
}

impl Module {
    fn child(&self, name: &str) -> Module {
        let mut child = self.in_file(&self.file);
        child.path.push(name.to_owned());
        child
    }

    /// Returns the same module with its text in `file`.
    fn in_file(&self, file: &Path) -> Module {
        let mut module = self.clone();
        module.file = file.to_owned();
        module.body = None;
        module
    }
}

/// Returns every module that can be reached from the root file `root`, in order of discovery. A
/// module with several files (one per platform) occurs once per file.
pub fn tree(root: &Path, files: &BTreeMap<PathBuf, String>) -> Vec<Module> {
    let mut walk = Walk { files, seen: BTreeSet::new(), modules: Vec::new() };
    let dir = root.parent().unwrap_or(Path::new("")).to_owned();
    let root = Module {
        path: Vec::new(),
        file: root.to_owned(),
        test_only: false,
        loom_only: false,
        body: None,
    };
    walk.file(root, &dir);
    walk.modules
}

/// Returns the innermost of `modules` that contains token `at` of `file`.
pub fn module_at<'m>(modules: &'m [Module], file: &Path, at: usize) -> Option<&'m Module> {
    let in_file = modules.iter().filter(|module| module.file == file);
    let around = in_file.filter(|m| m.body.as_ref().is_none_or(|body| body.contains(&at)));
    around.max_by_key(|module| module.path.len())
}

struct Walk<'f> {
    files: &'f BTreeMap<PathBuf, String>,
    seen: BTreeSet<PathBuf>,
    modules: Vec<Module>,
}

impl Walk<'_> {
    /// Adds `module`, a file whose children are in `dir`, and all modules below it.
    fn file(&mut self, mut module: Module, dir: &Path) {
        let files = self.files;
        let Some(text) = files.get(&module.file) else {
            return;
        };
        if !self.seen.insert(module.file.clone()) {
            return;
        }
        let file = module.file.clone();
        let source = Source::new(&file, text);
        module.test_only |= source.is_wholly_behind("test");
        module.loom_only |= source.is_wholly_behind("wakeful_loom");
        self.modules.push(module.clone());

        let test_ranges = source.only_with("test");
        let loom_ranges = source.only_with("wakeful_loom");
        // The modules around the current token, outermost first, with the folders of their
        // children.
        let mut around = vec![(module, dir.to_owned())];
        for at in 0..source.tokens.len() {
            around.retain(|(outer, _)| outer.body.as_ref().is_none_or(|body| at < body.end));
            let (outer, outer_dir) = around.last().expect("the file is around all its tokens");
            if let Some(included) = included_file(&source, at) {
                let included = join(parent(&file), included);
                self.file(outer.in_file(&included), parent(&included));
            }
            if source.text(at) != "mod" || !source.is_ident(at + 1) {
                continue;
            }
            let name = source.text(at + 1);
            let child_dir = outer_dir.join(name);
            let mut child = outer.child(name);
            child.test_only |= test_ranges.iter().any(|range| range.contains(&at));
            child.loom_only |= loom_ranges.iter().any(|range| range.contains(&at));
            if source.text(at + 2) == "{" {
                child.body = Some(at + 3..source.partner(at + 2));
                self.modules.push(child.clone());
                around.push((child, child_dir));
            } else if source.text(at + 2) == ";" {
                // `#[path]` is relative to the file's folder, and inside `mod x { … }` to x's
                // folder.
                let is_inline = outer.body.is_some();
                let base = if is_inline { outer_dir.as_path() } else { parent(&file) };
                for given in given_paths(&source, at).map(|given| join(base, given)) {
                    self.file(child.in_file(&given), parent(&given));
                }
                for usual in [child_dir.with_extension("rs"), child_dir.join("mod.rs")] {
                    self.file(child.in_file(&usual), &child_dir);
                }
            }
        }
    }
}

fn parent(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// Returns the file named by `include!("…")` at token `at`.
fn included_file<'a>(source: &Source<'a>, at: usize) -> Option<&'a str> {
    let file = source.matches(at, &["include", "!", "("]).then(|| source.text(at + 3))?;
    file.strip_prefix('"')?.strip_suffix('"')
}

/// Returns each `path = "…"` in the attributes of the `mod` at token `at`. With `cfg_attr` there
/// may be several.
fn given_paths<'s>(source: &'s Source<'_>, at: usize) -> impl Iterator<Item = &'s str> {
    let mut start = at;
    // Skips `pub`, `pub(crate)` and `pub(in …)`.
    if start > 0 && source.text(start - 1) == ")" {
        start = source.partner(start - 1);
    }
    if start > 0 && source.text(start - 1) == "pub" {
        start -= 1;
    }
    let attributes = source.attributes_start(start)..start;
    let paths = attributes.filter(|&token| source.matches(token, &["path", "="]));
    paths.filter_map(|token| source.text(token + 2).strip_prefix('"')?.strip_suffix('"'))
}

/// Joins two paths and resolves `..` and `.`, so that the result can be looked up.
fn join(base: &Path, relative: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in base.join(relative).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}
