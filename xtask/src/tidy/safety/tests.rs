use std::path::Path;

use super::*;

fn problem_lines(text: &str) -> Vec<usize> {
    let mut report = Report::default();
    check(&Source::new(Path::new("src/a.rs"), text), &mut report);
    report.problems.iter().map(|problem| problem.line).collect()
}

#[track_caller]
fn passes(text: &str) {
    assert_eq!(problem_lines(text), [], "{text}");
}

#[test]
fn a_bare_block_or_impl_is_reported() {
    assert_eq!(problem_lines("fn f() {\n    unsafe { g() }\n}"), [2]);
    assert_eq!(problem_lines("unsafe impl Send for A {}"), [1]);
    assert_eq!(problem_lines("macro_rules! m { () => {\n    unsafe { g() }\n} }"), [2]);
}

#[test]
fn a_comment_directly_above_counts() {
    passes("// SAFETY: held.\nunsafe impl Send for A {}");
    passes("fn f() {\n    // SAFETY: one,\n    // two.\n    unsafe { g() }\n}");
    passes("fn f() {\n    /* SAFETY: held. */ unsafe { g() }\n}");
    passes("// SAFETY: held.\n#[cfg(\n    unix\n)]\nunsafe impl Send for A {}");
    passes("#[cfg(unix)]\n// SAFETY: held.\nunsafe impl Send for A {}");
}

#[test]
fn a_comment_above_the_statement_counts() {
    passes("fn f() {\n    // SAFETY: held.\n    let x =\n        h(1, unsafe { g() });\n}");
    passes(
        "fn f() {\n    // SAFETY: held.\n    return S {\n        a,\n        b: unsafe { g() },\n    };\n}",
    );
    passes(
        "fn f() {\n    // SAFETY: held.\n    S {\n        #[x]\n        b: unsafe { g() },\n    }\n}",
    );
    passes("fn f() {\n    a.b()\n        // SAFETY: held.\n        .map(|x| unsafe { g(x) })\n}");
    passes("match x {\n    A => b,\n    // SAFETY: held.\n    C if d\n    => unsafe { g() },\n}");
}

#[test]
fn a_comment_elsewhere_does_not_count() {
    let far = "fn f() {\n    // SAFETY: held.\n\n    unsafe { g() }\n}";
    assert_eq!(problem_lines(far), [4]);
    let behind = "fn f() {\n    h(); // SAFETY: held.\n    unsafe { g() }\n}";
    assert_eq!(problem_lines(behind), [3]);
    let docs = "/// SAFETY: held.\nunsafe impl Send for A {}";
    assert_eq!(problem_lines(docs), [2]);
    let other_text = "// This is SAFETY: critical.\nunsafe impl Send for A {}";
    assert_eq!(problem_lines(other_text), [2]);
    let of_its_neighbour = "// SAFETY: held.\nunsafe impl Send for A {}\nunsafe impl Sync for A {}";
    assert_eq!(problem_lines(of_its_neighbour), [3]);
    let of_another_arm =
        "match x {\n    // SAFETY: held.\n    A => unsafe { a() },\n    B => unsafe { b() },\n}";
    assert_eq!(problem_lines(of_another_arm), [4]);
    let of_the_function = "// SAFETY: held.\nfn f() {\n    unsafe { g() }\n}";
    assert_eq!(problem_lines(of_the_function), [3]);
}

#[test]
fn a_public_unsafe_function_needs_a_safety_section() {
    let bare = "/// Docs.\npub unsafe fn f() {}\npub const unsafe extern \"C\" fn g() {}";
    assert_eq!(problem_lines(bare), [2, 3]);
    passes("/// Docs.\n///\n/// # Safety\n///\n/// Hold it.\n#[inline]\npub unsafe fn f() {}");
    passes("#[doc = \"# Safety\"]\npub unsafe fn f() {}");
    passes("/// # Safety\n/// Hold it.\npub const unsafe fn f() {}");
    passes("/// # Safety\n/// Hold it.\npub unsafe trait T {}");
    assert_eq!(problem_lines("pub unsafe trait T {}"), [1]);
}

#[test]
fn methods_of_public_traits_are_public() {
    let bare = "#[x]\npub trait T: U {\n    fn a();\n    unsafe fn f();\n}";
    assert_eq!(problem_lines(bare), [4]);
    passes("pub trait T {\n    /// # Safety\n    /// Hold it.\n    unsafe fn f();\n}");
    passes("trait T {\n    unsafe fn f();\n}");
    passes("impl T for A {\n    unsafe fn f() {}\n}");
}

#[test]
fn private_functions_and_function_types_are_not_checked() {
    passes("unsafe fn f() {}\npub(crate) unsafe fn g() {}\npub(in a::b) unsafe fn h() {}");
    passes(
        "struct V {\n    pub drop: unsafe fn(*const ()),\n    pub c: unsafe extern \"C\" fn(u8) }",
    );
    passes("pub type F = unsafe fn(u8);");
    passes("let s = \"unsafe { }\"; // unsafe { }");
}
