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

use super::verdict::put;
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

/// The frames of stacks, sorted.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    stacks: Vec<(Stack, Frames)>,
}

/// The frames of all stacks captured so far: each is captured once.
static RESOLVED: Mutex<Resolved> = Mutex::new(Resolved { stacks: Vec::new() });

/// Resolves the stacks that were captured since the last call, which takes long, and returns the
/// frames of all stacks.
pub(crate) fn resolve() -> MutexGuard<'static, Resolved> {
    let mut resolved = RESOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    for (stack, backtrace) in Stack::take_captured() {
        let mut text = String::new();
        put!(text, "{backtrace}");
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
        let mut rest = text.lines().map(str::trim).peekable();
        while let Some(line) = rest.next() {
            let location = rest.next_if(|line| line.starts_with("at "));
            let location = location.map(|location| {
                let location = location.trim_start_matches("at ");
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

#[cfg(feature = "taskdump")]
impl Frames {
    /// Prints one line for each frame.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for frame in &self.lines {
            push_frame(&mut text, frame, "");
            text.push('\n');
        }
        text
    }
}

/// Prints a frame, with a path that is relative to `root`.
pub(super) fn push_frame(into: &mut String, frame: &Frame, root: &str) {
    into.push_str(&frame.function);
    if let Some(location) = &frame.location {
        put!(into, " at {}", location.strip_prefix(root).unwrap_or(location));
    }
}

impl Resolved {
    /// Adds a stack, given what its backtrace prints.
    pub(crate) fn add(&mut self, stack: Stack, text: &str) {
        if let Err(at) = self.stacks.binary_search_by_key(&stack, |known| known.0) {
            self.stacks.insert(at, (stack, Frames::parse(text)));
        }
    }

    /// Returns where the functions of all stacks wait.
    pub(crate) fn locations(&self) -> impl Iterator<Item = &str> {
        let frames = self.stacks.iter().flat_map(|stack| &stack.1.lines);
        frames.filter_map(|frame| frame.location.as_deref())
    }

    pub(crate) fn get(&self, stack: Stack) -> Option<&Frames> {
        let at = self.stacks.binary_search_by_key(&stack, |known| known.0).ok()?;
        Some(&self.stacks[at].1)
    }
}

/// Returns whether a name lacks the path of its function. Debug information that consists of line
/// tables has only such names for some functions: `poll<api::Server>`, `{async_block#0}`.
fn is_short(name: &str) -> bool {
    let head = name.split('<').next().unwrap_or("");
    !head.is_empty() && !head.contains("::")
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
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(": ").filter(|_| rest.len() < line.len()).unwrap_or(line)
}

/// Removes `::{{closure}}` from the end: an async function's body is one.
pub(super) fn without_closures(mut name: &str) -> &str {
    loop {
        let trimmed = name.trim_end_matches("::{{closure}}");
        // As compilers with the other mangling scheme, and line tables, name them.
        let trimmed = match trimmed.rsplit_once("::{") {
            Some((before, number)) if number.ends_with('}') && number.contains('#') => before,
            _ => trimmed,
        };
        if trimmed.len() == name.len() {
            return name;
        }
        name = trimmed;
    }
}

/// Returns whether the task's part of a stack ends before this function.
pub(crate) fn is_root(name: &str) -> bool {
    let name = type_of(name);
    !name.starts_with(JOIN) && ROOTS.iter().any(|root| name.starts_with(root))
}

fn is_plumbing(name: &str) -> bool {
    let name = type_of(name);
    let first = name.split([':', '<', ' ']).next().unwrap_or("");
    // Names of the linker and of C, and type parameters: `<F as core::future::Future>::poll`.
    let is_foreign = !name.contains("::") || first.starts_with("__");
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
    match name.split_once(" as ") {
        // The type is a parameter, so the trait's crate is all that is known.
        Some((parameter, of)) if !parameter.contains("::") => of,
        _ => name,
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
