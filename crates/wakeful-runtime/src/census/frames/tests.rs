use super::*;

/// A stack captured in a task of a program built with debug information: a `for_each` over a
/// buffered stream, whose body calls a function that locks a mutex.
const TASK_DEBUG: &str = include_str!("tests/task.debug.txt");
/// The same, optimized and without debug information.
const TASK_RELEASE: &str = include_str!("tests/task.release.txt");
/// The thread that waits for the task in `Runtime::block_on`.
const MAIN_DEBUG: &str = include_str!("tests/main.debug.txt");
const MAIN_RELEASE: &str = include_str!("tests/main.release.txt");

/// A `join!` of two async blocks that lock a mutex, built with `debug = "line-tables-only"`.
const TASK_LINE_TABLES: &str = include_str!("tests/task.line_tables.txt");

fn parse(text: &str) -> Vec<(String, Option<String>)> {
    let frames = Frames::parse(text);
    frames.lines.into_iter().map(|frame| (frame.function, frame.location)).collect()
}

fn functions(text: &str) -> Vec<String> {
    parse(text).into_iter().map(|frame| frame.0).collect()
}

#[test]
fn a_debug_build_has_functions_and_lines() {
    let frame = |function: &str, location: &str| (function.into(), Some(location.into()));
    assert_eq!(
        parse(TASK_DEBUG),
        [
            frame("hung::buffered::query", "ecosystem/hung/src/buffered.rs:17:44"),
            frame("hung::buffered::report", "ecosystem/hung/src/buffered.rs:28:21"),
            frame("hung::buffered::report", "ecosystem/hung/src/buffered.rs:30:10"),
        ]
    );
    let location = "ecosystem/hung/src/buffered.rs:46:32";
    assert_eq!(parse(MAIN_DEBUG), [frame("hung::buffered::hung", location)]);
}

#[test]
fn functions_without_a_path_are_known_by_their_files() {
    let frame = |function: &str, location: &str| (function.into(), Some(location.into()));
    assert_eq!(
        parse(TASK_LINE_TABLES),
        [
            frame("main", "src/main.rs:39:96"),
            frame("pair::join_locks", "src/main.rs:38:9"),
            frame("main", "src/main.rs:38:9"),
        ]
    );
    assert_eq!(
        name_by_path("{closure#0}<u8>", "crates/api/src/db/pool.rs:1:2"),
        "api::db::pool::{closure#0}"
    );
    assert_eq!(
        name_by_path("poll<u8>", "/build/futures-util-0.3.34/src/lib.rs:9:9"),
        "futures_util::lib::poll"
    );
    assert_eq!(name_by_path("get", "/build/app/tests/api.rs:9:9"), "api::get");
    assert_eq!(name_by_path("start_thread", "./nptl/pthread_create.c:442:8"), "start_thread");
}

#[test]
fn a_release_build_has_functions() {
    let frame = |function: &str| (String::from(function), None);
    let frames = [frame("hung::buffered::query"), frame("hung::buffered::report")];
    assert_eq!(parse(TASK_RELEASE), frames);
    // The async block was inlined into `block_on`, and what is around that does not wait.
    assert_eq!(parse(MAIN_RELEASE), []);
}

#[test]
fn frames_without_a_name_or_number() {
    let text = "   0: <unknown>\n   1: app::inner::{{closure}}\n             at /src/app.rs:1:2\n      \
                app::outer::{closure#0}::{closure#1}\n             at /src/app.rs:3:4\n   2: \
                wakeful_base::waiting::collect::<app::Future>\n   3: app::main\n";
    let location = |at: &str| Some(at.to_owned());
    assert_eq!(
        parse(text),
        [
            ("app::inner".into(), location("/src/app.rs:1:2")),
            ("app::outer".into(), location("/src/app.rs:3:4")),
        ]
    );
    assert_eq!(parse(""), []);
}

#[test]
fn plumbing_is_told_by_the_type_or_else_the_trait() {
    let text = "   0: <core::pin::Pin<P> as core::future::future::Future>::poll\n   1: <F as \
                futures_core::future::TryFuture>::try_poll\n   2: <&mut F as \
                core::future::future::Future>::poll\n   3: <app::Waits as \
                core::future::future::Future>::poll\n   4: <app::Wraps<core::pin::Pin<P>> as \
                app::Polls>::poll\n   5: <alloc::boxed::Box<dyn app::Polls> as \
                app::Polls>::poll\n   6: __rust_try\n   7: tokio::macros::poll\n   8: \
                wakeful_runtime::time::timeout::Timeout<F>::poll\n   9: corelib::run\n";
    assert_eq!(
        functions(text),
        [
            "<app::Waits as core::future::future::Future>::poll",
            "<app::Wraps<core::pin::Pin<P>> as app::Polls>::poll",
            "corelib::run",
        ]
    );
}

#[test]
fn a_join_handle_is_no_end() {
    let text = "   0: <wakeful_task::join::JoinHandle<T> as core::future::future::Future>::poll\n   \
                1: app::waits::{{closure}}\n   2: wakeful_task::cell::poll\n   3: app::main\n";
    assert_eq!(functions(text), ["app::waits"]);
}

#[test]
fn a_closure_at_the_same_place_is_the_same_frame() {
    let text = "   0: app::run::{{closure}}::{{closure}}\n             at ./src/app.rs:7:5\n   1: \
                core::future::poll_fn::poll\n   2: app::run::{{closure}}\n             at \
                ./src/app.rs:7:5\n   3: app::run::{{closure}}\n             at ./src/app.rs:9:5\n";
    let location = |at: &str| Some(at.to_owned());
    assert_eq!(
        parse(text),
        [
            ("app::run".into(), location("src/app.rs:7:5")),
            ("app::run".into(), location("src/app.rs:9:5")),
        ]
    );
}

#[test]
fn each_stack_is_known_once() {
    let stack = Stack::capture();
    let mut resolved = Resolved::default();
    assert_eq!(resolved.get(stack), []);
    resolved.add(stack, TASK_DEBUG);
    resolved.add(stack, "");
    assert_eq!(resolved.get(stack), Frames::parse(TASK_DEBUG).lines);
    assert_eq!(resolved.number(stack), Some(0));
}

#[test]
fn frames_are_numbered_in_their_order() {
    let stacks = [Stack::capture(), Stack::capture(), Stack::capture(), Stack::capture()];
    let mut resolved = Resolved::default();
    for (stack, text) in stacks.into_iter().zip(["b::b", "a::a", "b::b", "std::c"]) {
        resolved.add(stack, text);
    }
    let numbers = stacks.map(|stack| resolved.number(stack));
    // The last one has no frames of the user's.
    assert_eq!(numbers, [Some(2), Some(1), Some(2), None]);
    assert_eq!(resolved.get(stacks[1]), Frames::parse("a::a").lines);
}

#[test]
fn the_directory_of_a_place() {
    assert_eq!(directory_of("/build/app/src/main.rs:12:30", "src/main.rs"), Some("/build/app/"));
    assert_eq!(directory_of("src/main.rs:12:30", "src/main.rs"), None);
    assert_eq!(directory_of("/build/my_src/main.rs:12:30", "src/main.rs"), None);
    assert_eq!(directory_of("main.rs", "src/main.rs"), None);
}
