//! Reads the user's own frames out of a backtrace's text.
//!
//! A stack that was captured at a leaf looks like this, innermost frame first:
//!
//! ```text
//!   capture, note, the leaf's poll    of the runtime
//!   async functions                   of the user, with plumbing of std and futures in between
//!   collect, the poll of a task       of the runtime: the end
//!   workers, main                     nothing to do with the task
//! ```

use super::write::put;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wakeful_base::waiting::Stack;

/// A function that waits, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    pub(crate) function: String,
    /// `file:line:column`, if the program has debug information.
    pub(crate) location: Option<String>,
}

/// The user's frames of a stack, from the one that waits outward.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frames {
    pub(crate) lines: Vec<Frame>,
}

/// The frames of stacks.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Sorted, with the index of each stack's frames.
    stacks: Vec<(Stack, usize)>,
    /// Sorted. Stacks that differ in frames of the runtime share an entry.
    frames: Vec<Frames>,
}

/// The frames of all stacks captured so far: each is captured once.
static RESOLVED: Mutex<Resolved> = Mutex::new(Resolved { stacks: Vec::new(), frames: Vec::new() });

/// Resolves the stacks that were captured since the last call, which takes long, and returns the
/// frames of all stacks.
pub(crate) fn resolve() -> MutexGuard<'static, Resolved> {
    let mut resolved = RESOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    for (stack, backtrace) in Stack::take_captured() {
        let mut text = String::new();
        put!(&mut text, "{backtrace}");
        resolved.add(stack, &text);
    }
    resolved
}

/// The crates whose frames say nothing about what the user's program does.
const PLUMBING: [&str; 12] = [
    "alloc",
    "async_stream",
    "core",
    "futures",
    "futures_channel",
    "futures_core",
    "futures_lite",
    "futures_util",
    "pin_project_lite",
    "std",
    "tokio",
    "wakeful",
];

/// The runtime's functions that poll a task or the future of a `block_on` when it is asked. The
/// rest is the thread's.
const ROOTS: [&str; 3] =
    ["wakeful_base::waiting::collect", "wakeful_base::threads::", "wakeful_task::"];

/// The leaf in the same crate as [`ROOTS`], which is no end.
const JOIN: &str = "wakeful_task::join";

impl Frames {
    /// Parses what the `Display` of [`std::backtrace::Backtrace`] prints.
    pub(crate) fn parse(text: &str) -> Frames {
        let mut lines: Vec<Frame> = Vec::new();
        let mut rest = text.split('\n').map(str::trim_ascii).peekable();
        while let Some(line) = rest.next() {
            let location = rest.next_if(|line| line.starts_with("at "));
            let location = location.map(|location| {
                let location = location.strip_prefix("at ").unwrap_or(location);
                location.strip_prefix("./").unwrap_or(location)
            });
            let name = without_number(line);
            let by_path = location.filter(|_| is_short(name)).map(|path| name_by_path(name, path));
            let name = by_path.as_deref().unwrap_or(name);
            if is_root(name) {
                break;
            }
            if !is_plumbing(name) {
                let function = without_closures(name).into();
                lines.push(Frame { function, location: location.map(String::from) });
            }
        }
        // A macro such as `select!` polls in a closure at the same place, and an inlined function
        // has a frame of its own.
        lines.dedup();
        lines.dedup_by(|outer, inner| {
            outer.function == inner.function
                && (outer.location.is_none() || inner.location.is_none())
        });
        Frames { lines }
    }
}

impl Resolved {
    /// Adds a stack, given what its backtrace prints.
    pub(crate) fn add(&mut self, stack: Stack, text: &str) {
        let Err(at) = self.index_of(stack) else { return };
        let frames = Frames::parse(text);
        let number = self.frames.partition_point(|known| *known < frames);
        if self.frames.get(number) != Some(&frames) {
            self.frames.insert(number, frames);
            for known in &mut self.stacks {
                known.1 += usize::from(known.1 >= number);
            }
        }
        self.stacks.insert(at, (stack, number));
    }

    fn index_of(&self, stack: Stack) -> Result<usize, usize> {
        self.stacks.binary_search_by_key(&stack, |known| known.0)
    }

    /// Returns what precedes the path `file` in the place of some frame: the directory in which the
    /// program was built.
    pub(crate) fn directory_of(&self, file: &str) -> Option<&str> {
        for frame in self.frames.iter().flat_map(|frames| &frames.lines) {
            let location = frame.location.as_deref().unwrap_or("");
            if let Some(directory) = directory_of(location, file) {
                return Some(directory);
            }
        }
        None
    }

    /// Returns the number of a stack's frames, in their order, if there are any.
    pub(crate) fn number(&self, stack: Stack) -> Option<usize> {
        let number = self.stacks[self.index_of(stack).ok()?].1;
        Some(number).filter(|_| !self.frames(number).is_empty())
    }

    /// Returns the frames with this number.
    pub(crate) fn frames(&self, number: usize) -> &[Frame] {
        &self.frames[number].lines
    }

    /// Returns the frames of a stack, which are none if they are not known.
    pub(crate) fn get(&self, stack: Stack) -> &[Frame] {
        self.number(stack).map_or(&[], |number| self.frames(number))
    }
}

/// Returns what comes before `file` in `location`, which is `path:line:column`.
fn directory_of<'a>(location: &'a str, file: &str) -> Option<&'a str> {
    let path = without_line(without_line(location));
    path.strip_suffix(file).filter(|directory| directory.ends_with('/'))
}

/// Removes `:12` from the end.
fn without_line(location: &str) -> &str {
    location.trim_end_matches(is_digit).strip_suffix(':').unwrap_or(location)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns whether a name lacks the path of its function. Debug information that consists of line
/// tables has only such names for some functions: `poll<api::Server>`, `{async_block#0}`.
fn is_short(name: &str) -> bool {
    let head = name.split('<').next().unwrap_or("");
    !head.is_empty() && position(head, "::").is_none()
}

/// Makes up the path of a function from that of its source file: `db::query::poll` from `poll` and
/// `/src/db-0.1.2/src/query.rs:12:3`.
fn name_by_path(name: &str, location: &str) -> String {
    let path = location.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let Some(path) = path.strip_suffix(".rs") else { return String::from(name) };
    let mut made_up = String::new();
    if let Some(at) = path.rfind("/src/") {
        let folder = path[..at].rsplit('/').next().unwrap_or("");
        let is_version = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        let package = match folder.rsplit_once('-') {
            Some((package, version)) if is_version(version) => package,
            _ => folder,
        };
        made_up.push_str(&package.replace('-', "_"));
        made_up.push_str("::");
        made_up.push_str(&path[at + "/src/".len()..].replace('/', "::"));
    } else {
        made_up.push_str(path.rsplit('/').next().unwrap_or(""));
    }
    made_up.push_str("::");
    made_up.push_str(name.split('<').next().unwrap_or(""));
    made_up
}

/// Removes `12: ` from the beginning. Inlined frames have no number.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(is_digit);
    rest.strip_prefix(": ").filter(|_| rest.len() < line.len()).unwrap_or(line)
}

/// Removes `::{{closure}}` from the end: an async function's body is one.
pub(super) fn without_closures(mut name: &str) -> &str {
    while let Some(rest) = without_closure(name) {
        name = rest;
    }
    name
}

fn without_closure(name: &str) -> Option<&str> {
    if let Some(rest) = name.strip_suffix("::{{closure}}") {
        return Some(rest);
    }
    // As compilers with the other mangling scheme, and line tables, name them: `::{closure#0}`.
    let name = name.strip_suffix('}')?.trim_end_matches(is_digit).strip_suffix('#')?;
    name.trim_end_matches(|c: char| c.is_ascii_lowercase() || c == '_').strip_suffix("::{")
}

fn is_root(name: &str) -> bool {
    let name = type_of(name);
    !name.starts_with(JOIN) && ROOTS.iter().any(|root| name.starts_with(root))
}

fn is_plumbing(name: &str) -> bool {
    let name = type_of(name);
    let end = name.bytes().position(|byte| matches!(byte, b':' | b'<' | b' '));
    let first = &name[..end.unwrap_or(name.len())];
    // Names of the linker and of C, and type parameters: `<F as core::future::Future>::poll`.
    let is_foreign = position(name, "::").is_none() || first.starts_with("__");
    is_foreign || first.starts_with("wakeful_") || PLUMBING.contains(&first)
}

/// Returns a path that begins with the crate: of the type in `<T as Trait>::method`, or else of the
/// function.
fn type_of(name: &str) -> &str {
    let mut name = name;
    while let Some(rest) = name.strip_prefix(['<', '&', '*', '(', '[']) {
        name = rest;
    }
    for prefix in ["mut ", "const ", "dyn "] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    match position(name, " as ") {
        // The type is a parameter, so the trait's crate is all that is known.
        Some(at) if position(&name[..at], "::").is_none() => &name[at + " as ".len()..],
        _ => name,
    }
}

/// Returns where `part` begins in `text`. The searches of std are faster in long texts, and large.
#[inline(never)]
fn position(text: &str, part: &str) -> Option<usize> {
    text.as_bytes().windows(part.len()).position(|window| window == part.as_bytes())
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
