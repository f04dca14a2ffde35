use super::Fact;

fn with(text: &str, predicates: &[&str]) -> Fact {
    Fact::new(text).with(predicates.iter().map(|predicate| predicate.to_string()).collect())
}

#[test]
fn a_function_must_have_the_same_signature() {
    let wanted = with("fn(T0)", &["T0: Send"]);
    assert!(with("fn(T0)", &["T0: Send"]).meets(&wanted));
    assert!(!with("fn(T0)", &[]).meets(&wanted));
    assert!(!with("fn(T0)", &["T0: Send", "T0: Sync"]).meets(&wanted));
    assert!(!with("fn(u8)", &["T0: Send"]).meets(&wanted));
}

#[test]
fn an_implementation_may_have_weaker_but_not_stronger_bounds() {
    let wanted = with("", &["T0: Send", "T0: Sync"]).of_impl();
    assert!(with("", &["T0: Send"]).of_impl().meets(&wanted));
    assert!(!with("", &["T0: Send", "T0: Unpin"]).of_impl().meets(&wanted));
    // Without `?Sized`, the bounds are stronger.
    let unsized_too = with("", &["T0: ?Sized"]).of_impl();
    assert!(!with("", &[]).of_impl().meets(&unsized_too));
    assert!(unsized_too.meets(&with("", &[]).of_impl()));
}

#[test]
fn an_additional_implementation_is_allowed_and_a_missing_one_is_not() {
    let implemented = with("", &[]).of_impl();
    assert!(implemented.meets(&Fact::not_implemented()));
    assert!(!Fact::not_implemented().meets(&implemented));
}
