//! The cases on Tokio.

extern crate tokio as rt;

mod cases;
mod run;

fn main() {
    run::main();
}
