//! Arguments of `#[main]`.

#[wakeful::main(flavor = "fast")] //~ No such runtime flavor `fast`. The runtime flavors are `current_thread`, `local`, and `multi_thread`.
async fn unknown_flavor() {}

#[wakeful::main(flavor = "single_thread")] //~ The single threaded runtime flavor is called `current_thread`.
async fn flavor_by_another_name() {}

#[wakeful::main(flavor = 1)] //~ Failed to parse value of `flavor` as string.
async fn flavor_is_text() {}

#[wakeful::main(
    flavor = "current_thread",
    worker_threads = 4, //~ The `worker_threads` option requires the `multi_thread` runtime flavor. Use `#[wakeful::main(flavor = "multi_thread")]`
)]
async fn workers_on_one_thread() {}

#[wakeful::main(worker_threads = 0)] //~ `worker_threads` may not be 0.
async fn no_workers() {}

#[wakeful::main(worker_threads = "4")] //~ Failed to parse value of `worker_threads` as integer
async fn workers_in_quotes() {}

#[wakeful::main(start_paused = true)] //~ The `start_paused` option requires the `current_thread` runtime flavor. Use `#[wakeful::main(flavor = "current_thread")]`
async fn many_threads_and_a_paused_clock() {}

#[wakeful::main(flavor = "current_thread", start_paused = maybe)] //~ Failed to parse value of `start_paused` as bool.
async fn paused_or_not() {}

#[wakeful::main(unhandled_panic = "ignore")] //~ The `unhandled_panic` option requires the `current_thread` runtime flavor. Use `#[wakeful::main(flavor = "current_thread")]`
async fn many_threads_and_a_panic() {}

#[wakeful::main(flavor = "local", unhandled_panic = "abort")] //~ No such unhandled panic behavior `abort`. The unhandled panic behaviors are `ignore` and `shutdown_runtime`.
async fn unknown_behaviour() {}

#[wakeful::main(crate = "a b")] //~ Failed to parse value of `crate` as path: "a b"
async fn not_a_path() {}

#[wakeful::main(thread_count = 4)] //~ Unknown attribute thread_count is specified; expected one of: `flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`.
async fn unknown_argument() {}

#[wakeful::main(current_thread)] //~ `#[wakeful::main]` expects arguments of the form `name = value`; the names are `flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`
async fn a_value_without_its_name() {}

#[wakeful::main(flavor: "local")] //~ expected `flavor = value`
async fn a_colon() {}

#[wakeful::main(name = "a", name = "b")] //~ `name` set multiple times.
async fn two_names() {}

fn main() {}
