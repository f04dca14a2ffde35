//! The cases on Wakeful.

extern crate wakeful as rt;

mod allocator;
mod cases;
mod machine;
mod run;

fn main() {
    run::main();
}
