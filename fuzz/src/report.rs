//! Prints a difference.

use std::fmt::Write;

use crate::compare::Difference;
use crate::script::{Family, Script};

/// Returns a script as a test for `tests/found.rs`, with the difference in a comment above it.
pub fn as_test<F: Family>(script: &Script<F>, difference: &Difference, seed: u64) -> String {
    let Script { place, size, ops } = script;
    let Difference { step, wakeful, tokio } = difference;
    let op = ops.get(*step).map_or_else(|| "the end".to_owned(), |op| format!("{op:?}"));
    let mut text = format!(
        "// Step {step}, {op}:\n//   Wakeful: {wakeful}\n//   Tokio:   {tokio}\n\
         #[test]\nfn {name}_{seed}() {{\n    use wakeful_fuzz::scripts::{name}::Op::*;\n    \
         check(\n        Place::{place:?},\n        {size},\n        &[\n",
        name = F::NAME,
    );
    for op in ops {
        writeln!(text, "            {op:?},").expect("writing to a `String` does not fail");
    }
    text.push_str("        ],\n    );\n}\n");
    text
}
