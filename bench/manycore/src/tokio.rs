//! The cases on Tokio.

extern crate tokio as rt;

mod allocator;
mod cases;
mod machine;
mod run;

fn main() {
    run::main();
}
