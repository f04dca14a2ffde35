//! The cases on Wakeful.

extern crate wakeful as rt;

mod cases;
mod run;

fn main() {
    run::main();
}
