//! Traces of single polls, and their call stacks with addresses, as in Tokio's `runtime::dump`.

use super::Trace;
use crate::census::{Frames, is_root};
use std::ffi::c_void;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use wakeful_base::budget::trace::{self, TraceMeta, trace_with};

// Part of the unwinder that std links.
unsafe extern "C" {
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

/// The addresses in the frames of a call stack, innermost first.
pub(super) type Addresses = Vec<usize>;

/// An address that is only printed and compared.
#[derive(Debug, Clone, Copy)]
struct Address(usize);

impl Address {
    fn of(pointer: *mut c_void) -> Address {
        Address(pointer.addr())
    }

    fn to_pointer(self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.0)
    }
}

/// The call stack of one leaf future, as [`Trace::resolve_backtraces`] returns it.
///
/// ```
/// use wakeful::runtime::{Handle, dump::Backtrace};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (_tx, rx) = wakeful::sync::oneshot::channel::<()>();
/// wakeful::spawn(rx);
/// let dump = Handle::current().dump().await;
/// let task = dump.tasks().iter().next().unwrap();
/// let stacks: Vec<Backtrace> = task.trace().resolve_backtraces();
/// assert!(stacks[0].frames().count() > 0);
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Backtrace {
    frames: Box<[BacktraceFrame]>,
}

/// A frame of a [`Backtrace`].
///
/// ```
/// use wakeful::runtime::dump::BacktraceFrame;
///
/// fn print(frame: &BacktraceFrame) {
///     println!("{:?}, in the function at {:?}", frame.ip(), frame.symbol_address());
///     frame.symbols().for_each(|symbol| println!("  {:?}", symbol.name_demangled()));
/// }
/// ```
#[derive(Debug, Clone)]
pub struct BacktraceFrame {
    ip: Address,
    symbol_address: Address,
    symbols: Box<[BacktraceSymbol]>,
}

/// A function in a [`BacktraceFrame`], which has several if some were inlined.
///
/// ```
/// use wakeful::runtime::dump::BacktraceSymbol;
///
/// fn print(symbol: &BacktraceSymbol) {
///     println!("{:?} or {:?}", symbol.name_demangled(), symbol.name_raw());
///     println!("at {:?}: {:?}", symbol.addr(), symbol.filename());
///     println!("line {:?}, column {:?}", symbol.lineno(), symbol.colno());
/// }
/// ```
#[derive(Debug, Clone)]
pub struct BacktraceSymbol {
    name: Option<Box<[u8]>>,
    name_demangled: Option<Box<str>>,
    addr: Option<Address>,
    filename: Option<PathBuf>,
    lineno: Option<u32>,
    colno: Option<u32>,
}

impl Backtrace {
    /// Looks up the functions of a stack. Leaves those out that capture it, and those around the
    /// task.
    fn resolve(addresses: &Addresses) -> Backtrace {
        let frames = addresses.iter().map(|ip| BacktraceFrame::resolve(Address(*ip)));
        let mut frames: Vec<_> = frames.take_while(|frame| !frame.has(is_root)).collect();
        let captures = |name: &str| name.contains("wakeful_base::waiting::");
        let inner = frames.iter().rposition(|frame| frame.has(captures));
        frames.drain(..inner.map_or(0, |at| at + 1));
        Backtrace { frames: frames.into() }
    }

    /// Returns the frames, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = &BacktraceFrame> {
        self.frames.iter()
    }

    /// Returns the frames in the form in which std prints them.
    fn to_text(&self) -> String {
        let mut text = String::new();
        for symbol in self.frames().flat_map(BacktraceFrame::symbols) {
            text.push_str(symbol.name_demangled().unwrap_or("<unknown>"));
            text.push('\n');
            if let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) {
                let column = symbol.colno().unwrap_or(0);
                text.push_str(&format!("  at {}:{line}:{column}\n", file.display()));
            }
        }
        text
    }
}

impl BacktraceFrame {
    fn resolve(ip: Address) -> BacktraceFrame {
        let mut symbols = Vec::new();
        backtrace::resolve(ip.to_pointer(), |symbol| symbols.push(BacktraceSymbol::new(symbol)));
        // SAFETY: the unwinder looks the address up in its tables, and does not access it.
        let function = unsafe { _Unwind_FindEnclosingFunction(ip.to_pointer()) };
        BacktraceFrame { ip, symbol_address: Address::of(function), symbols: symbols.into() }
    }

    fn has(&self, test: fn(&str) -> bool) -> bool {
        self.symbols().filter_map(BacktraceSymbol::name_demangled).any(test)
    }

    /// Returns the address of the instruction that the function has reached.
    pub fn ip(&self) -> *mut c_void {
        self.ip.to_pointer()
    }

    /// Returns the address at which the function begins.
    pub fn symbol_address(&self) -> *mut c_void {
        self.symbol_address.to_pointer()
    }

    /// Returns the functions of the frame: those that were inlined first, innermost first.
    pub fn symbols(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter()
    }
}

impl BacktraceSymbol {
    fn new(symbol: &backtrace::Symbol) -> BacktraceSymbol {
        let name = symbol.name();
        BacktraceSymbol {
            name: name.as_ref().map(|name| name.as_bytes().into()),
            // Without the hash at the end.
            name_demangled: name.map(|name| format!("{name:#}").into()),
            addr: symbol.addr().map(Address::of),
            filename: symbol.filename().map(Path::to_owned),
            lineno: symbol.lineno(),
            colno: symbol.colno(),
        }
    }

    /// Returns the name as it is in the program's symbol table.
    pub fn name_raw(&self) -> Option<&[u8]> {
        self.name.as_deref()
    }

    /// Returns the name as in the source code.
    pub fn name_demangled(&self) -> Option<&str> {
        self.name_demangled.as_deref()
    }

    /// Returns the address that was looked up.
    pub fn addr(&self) -> Option<*mut c_void> {
        self.addr.map(Address::to_pointer)
    }

    /// Returns the file of the function, if the program has debug information.
    pub fn filename(&self) -> Option<&Path> {
        self.filename.as_deref()
    }

    /// Returns the line that the function has reached.
    pub fn lineno(&self) -> Option<u32> {
        self.lineno
    }

    /// Returns the column that the function has reached.
    pub fn colno(&self) -> Option<u32> {
        self.colno
    }
}

/// Prints the program's own functions in stacks.
pub(super) fn to_text(stacks: &[Addresses]) -> String {
    let mut text = String::new();
    for stack in stacks {
        text.push_str(&Frames::parse(&Backtrace::resolve(stack).to_text()).to_text());
    }
    text
}

impl Trace {
    /// Returns the call stack of each leaf future that was reached in the poll. Looks up the names
    /// of functions, which may take long: call it in
    /// [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// ```
    /// use wakeful::runtime::Handle;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (_tx, rx) = wakeful::sync::oneshot::channel::<()>();
    /// wakeful::spawn(rx);
    /// let dump = Handle::current().dump().await;
    /// let task = dump.tasks().iter().next().unwrap();
    /// assert_eq!(task.trace().resolve_backtraces().len(), 1);
    /// # });
    /// ```
    pub fn resolve_backtraces(&self) -> Vec<Backtrace> {
        self.stacks.iter().map(Backtrace::resolve).collect()
    }

    /// Runs `f`, usually a poll of a future, and returns its result with the call stacks of the
    /// leaf futures that it reaches, up to the innermost [`root`](Self::root).
    ///
    /// The leaf futures return `Pending`, as in [`trace_with`], and make progress in the next poll
    /// outside `capture`.
    ///
    /// ```
    /// use std::{future::Future, pin::pin, task::Poll};
    /// use wakeful::runtime::dump::Trace;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut work = pin!(async { wakeful::task::yield_now().await });
    /// let trace = Trace::root(std::future::poll_fn(|cx| {
    ///     let (polled, trace) = Trace::capture(|| work.as_mut().poll(cx));
    ///     assert!(polled.is_pending());
    ///     Poll::Ready(trace)
    /// }))
    /// .await;
    /// println!("{trace}");
    /// work.await;
    /// # });
    /// ```
    pub fn capture<F, R>(f: F) -> (R, Trace)
    where
        F: FnOnce() -> R,
    {
        let mut stacks = Vec::new();
        let result = trace_with(f, |meta| stacks.push(between(meta)));
        (result, Trace { text: String::new(), stacks })
    }

    /// Makes a future the root of the traces that are captured in it: the frames outside it are
    /// left out.
    ///
    /// ```
    /// use wakeful::runtime::dump::{Root, Trace};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let root: Root<_> = Trace::root(async { 42 });
    /// assert_eq!(root.await, 42);
    /// # });
    /// ```
    pub fn root<F>(f: F) -> Root<F>
    where
        F: Future,
    {
        Root { future: f }
    }
}

/// Returns the addresses in the frames between a leaf and its root. None if there is no root.
fn between(meta: &TraceMeta) -> Addresses {
    let mut addresses = Vec::new();
    let Some(root) = meta.root_addr else { return addresses };
    let mut is_inside = false;
    backtrace::trace(|frame| {
        let function = frame.symbol_address().cast_const();
        let is_root = function == root;
        if is_inside && !is_root {
            addresses.push(frame.ip().addr());
        }
        is_inside |= function == meta.trace_leaf_addr;
        !is_root
    });
    addresses
}

/// The future of [`Trace::root`].
///
/// ```
/// use wakeful::runtime::dump::{Root, Trace};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let root: Root<_> = Trace::root(async { 42 });
/// assert_eq!(root.await, 42);
/// # });
/// ```
#[derive(Debug, Clone)]
#[must_use = "futures do nothing unless polled"]
pub struct Root<T> {
    future: T,
}

impl<T: Future> Future for Root<T> {
    type Output = T::Output;

    // Not inlined: its address tells where traces end.
    #[inline(never)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        let _root = trace::enter_root(Self::poll as *const c_void);
        // SAFETY: `future` is pinned whenever `self` is. There is no `Drop` that could move it, and
        // `Root` is `Unpin` only if `T` is.
        unsafe { self.map_unchecked_mut(|root| &mut root.future) }.poll(cx)
    }
}
