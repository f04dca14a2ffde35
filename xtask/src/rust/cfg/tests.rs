use super::*;
use crate::rust::lex::lex;

fn needs_test(attribute: &str) -> bool {
    requires(&lex(attribute).tokens, "test")
}

#[test]
fn a_flag_is_required_if_the_condition_cannot_hold_without_it() {
    for attribute in [
        "cfg(test)",
        "cfg(all(test, wakeful_loom))",
        "cfg(all(unix, any(test, all(test, feature = \"net\"))))",
        "cfg(not(not(test)))",
        "cfg(all(unix, test,))",
    ] {
        assert!(needs_test(attribute), "{attribute}");
    }
}

#[test]
fn a_flag_is_not_required_if_the_condition_can_hold_without_it() {
    for attribute in [
        "cfg(unix)",
        "cfg(not(test))",
        "cfg(any(test, feature = \"test\"))",
        "cfg(feature = \"test\")",
        "cfg(all(unix, not(test)))",
        "cfg_attr(test, derive(Debug))",
        "test",
        "cfg(",
        "cfg(all(",
    ] {
        assert!(!needs_test(attribute), "{attribute}");
    }
}
