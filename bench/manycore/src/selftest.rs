//! Tests of the machine itself.
mod machine;
fn main() {
    machine::fix_addresses();
}
