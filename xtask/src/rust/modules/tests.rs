use super::*;

fn files(files: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
    files.iter().map(|(path, text)| (PathBuf::from(path), text.to_string())).collect()
}

fn shown(modules: &[Module]) -> Vec<String> {
    let shown = modules.iter().map(|m| format!("{} {}", m.path.join("::"), m.file.display()));
    shown.collect()
}

#[test]
fn files_are_found_where_the_compiler_looks() {
    let files = files(&[
        ("src/lib.rs", "mod a; pub(crate) mod b; cfg_net! { pub mod c; } mod gone;"),
        ("src/a.rs", "mod x;"),
        ("src/a/x.rs", ""),
        ("src/b/mod.rs", "mod y;"),
        ("src/b/y.rs", ""),
        ("src/c.rs", "// mod unseen;"),
        ("src/unseen.rs", ""),
    ]);
    let expected = [
        " src/lib.rs",
        "a src/a.rs",
        "a::x src/a/x.rs",
        "b src/b/mod.rs",
        "b::y src/b/y.rs",
        "c src/c.rs",
    ];
    assert_eq!(shown(&tree(Path::new("src/lib.rs"), &files)), expected);
}

#[test]
fn inline_modules_and_given_paths_are_followed() {
    let files = files(&[
        (
            "src/lib.rs",
            "mod a { pub mod b { mod c; } mod d; }\n#[path = \"os/linux.rs\"] pub(crate) mod sys;",
        ),
        ("src/a/b/c.rs", ""),
        ("src/a/d.rs", "include!(\"../parts/e.rs\");"),
        ("src/parts/e.rs", "mod f;"),
        ("src/parts/f.rs", ""),
        ("src/os/linux.rs", "mod epoll;"),
        ("src/os/epoll.rs", ""),
    ]);
    let expected = [
        " src/lib.rs",
        "a src/lib.rs",
        "a::b src/lib.rs",
        "a::b::c src/a/b/c.rs",
        "a::d src/a/d.rs",
        "a::d src/parts/e.rs",
        "a::d::f src/parts/f.rs",
        "sys src/os/linux.rs",
        "sys::epoll src/os/epoll.rs",
    ];
    assert_eq!(shown(&tree(Path::new("src/lib.rs"), &files)), expected);
}

#[test]
fn each_platform_has_its_file() {
    let files = files(&[
        (
            "src/lib.rs",
            "#[cfg_attr(unix, path = \"u.rs\")] #[cfg_attr(windows, path = \"w.rs\")] mod sys;",
        ),
        ("src/u.rs", ""),
        ("src/w.rs", ""),
    ]);
    let expected = [" src/lib.rs", "sys src/u.rs", "sys src/w.rs"];
    assert_eq!(shown(&tree(Path::new("src/lib.rs"), &files)), expected);
}

#[test]
fn gates_apply_to_child_modules() {
    let files = files(&[
        ("src/lib.rs", "mod a;"),
        ("src/a.rs", "#[cfg(test)]\nmod tests;"),
        ("src/a/tests.rs", "#[cfg(wakeful_loom)]\nmod loom; mod plain { }"),
        ("src/a/tests/loom.rs", "mod deep {}"),
    ]);
    let modules = tree(Path::new("src/lib.rs"), &files);
    let gates: Vec<_> =
        modules.iter().map(|m| (m.path.join("::"), m.test_only, m.loom_only)).collect();
    let expected = [
        ("", false, false),
        ("a", false, false),
        ("a::tests", true, false),
        ("a::tests::loom", true, true),
        ("a::tests::loom::deep", true, true),
        ("a::tests::plain", true, false),
    ];
    assert_eq!(gates, expected.map(|(path, test, loom)| (path.to_owned(), test, loom)));
}

#[test]
fn a_token_belongs_to_the_innermost_module() {
    let files = files(&[("src/lib.rs", "a; mod m { b; mod n { c; } d; } e;")]);
    let modules = tree(Path::new("src/lib.rs"), &files);
    let source = Source::new(Path::new("src/lib.rs"), &files[Path::new("src/lib.rs")]);
    let homes = ["a", "b", "c", "d", "e"].map(|name| {
        let at = source.tokens.iter().position(|token| token.text == name).unwrap();
        module_at(&modules, source.path, at).unwrap().path.join("::")
    });
    assert_eq!(homes, ["", "m", "m::n", "m", ""]);
}
