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
        let mut is_kept = false;
        for line in text.lines().map(str::trim) {
            if let Some(location) = line.strip_prefix("at ") {
                if let (true, Some(frame)) = (is_kept, lines.last_mut()) {
                    frame.location = Some(location.strip_prefix("./").unwrap_or(location).into());
                }
                continue;
            }
            let name = without_number(line);
            if is_root(name) {
                break;
            }
            is_kept = !is_plumbing(name);
            if is_kept {
                lines.push(Frame { function: without_closures(name).into(), location: None });
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

/// Removes `12: ` from the beginning. Inlined frames have no number.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(": ").filter(|_| rest.len() < line.len()).unwrap_or(line)
}

/// Removes `::{{closure}}` from the end: an async function's body is one.
pub(super) fn without_closures(mut name: &str) -> &str {
    loop {
        let trimmed = name.trim_end_matches("::{{closure}}");
        // As compilers with the other mangling scheme name them.
        let trimmed = match trimmed.rsplit_once("::{closure#") {
            Some((before, number)) if number.ends_with('}') && !number.contains("::") => before,
            _ => trimmed,
        };
        if trimmed.len() == name.len() {
            return name;
        }
        name = trimmed;
    }
}

fn is_root(name: &str) -> bool {
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
