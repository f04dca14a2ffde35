use super::{Found, Patch, Source, added_lines, find, insert, remove};

const DIR: &str = "../wakeful/crates/tokio-drop-in";
const LINE: &str = "tokio = { path = \"../wakeful/crates/tokio-drop-in\" }";

fn dir() -> Source {
    Source::Path(DIR.to_owned())
}

fn git(url: &str, at: Option<(&'static str, &str)>) -> Source {
    Source::Git { url: url.to_owned(), at: at.map(|(key, value)| (key, value.to_owned())) }
}

fn found(text: &str) -> Found {
    match find(text).unwrap() {
        Patch::Tokio(found) => found,
        Patch::None => panic!("no patch for tokio in:\n{text}"),
    }
}

fn removed(text: &str) -> String {
    remove(text, &found(text)).unwrap()
}

#[test]
fn what_is_added_can_be_removed_without_a_trace() {
    let texts = [
        "[package]\nname = \"a\"   # the name\n\n[dependencies]\ntokio = \"1\"\n# the end\n",
        "[package]\r\nname = \"a\"\r\n",
        "[workspace]\nmembers = [\n    \"a\", # one\n]\n\n\n[patch.crates-io]\n# pinned\nlibc = { path = \"l\" } # ours\n\n# next\n[profile.dev]\ndebug = 1\n",
        "[patch.crates-io]\nlibc.path = \"l\"\n[patch.crates-io.bytes]\npath = \"b\"\n",
        "[patch.'https://example.org/a']\nlibc = { path = \"l\" }\n",
        "[patch.crates-io.bytes]\npath = \"b\"\n",
    ];
    for text in texts {
        assert_eq!(find(text), Ok(Patch::None));
        let with = insert(text, &dir()).unwrap();
        assert_eq!(found(&with).source, dir());
        assert!(added_lines(text, &with).contains(&LINE), "{with}");
        assert_eq!(removed(&with), text);
    }
}

#[test]
fn the_patch_is_two_lines_below_an_empty_one() {
    let with = insert("[dependencies]\ntokio = \"1\"", &dir()).unwrap();
    assert_eq!(with, format!("[dependencies]\ntokio = \"1\"\n\n[patch.crates-io]\n{LINE}\n"));
    assert_eq!(added_lines("[dependencies]\ntokio = \"1\"", &with), ["[patch.crates-io]", LINE]);
}

#[test]
fn an_entry_follows_the_last_one_of_its_table() {
    let text = "[patch.crates-io]\nlibc = { path = \"l\" }\n\n[profile.dev]\ndebug = 1\n";
    let with = insert(text, &dir()).unwrap();
    assert_eq!(
        with,
        format!(
            "[patch.crates-io]\nlibc = {{ path = \"l\" }}\n{LINE}\n\n[profile.dev]\ndebug = 1\n"
        )
    );
    let empty = "[patch.crates-io] # patches\n\n[profile.dev]\n";
    let with = insert(empty, &dir()).unwrap();
    assert_eq!(with, format!("[patch.crates-io] # patches\n{LINE}\n\n[profile.dev]\n"));
}

#[test]
fn other_layouts_of_a_patch_are_found() {
    let cases = [
        ("[patch.crates-io.tokio]\npath = \"a\"\n", Source::Path("a".into())),
        ("[patch.\"crates-io\"]\ntokio = { git = \"b\" }\n", git("b", None)),
        ("[patch]\ncrates-io.tokio.path = \"a\"\n", Source::Path("a".into())),
        ("[patch]\ncrates-io = { tokio = { path = \"a\" } }\n", Source::Path("a".into())),
        ("patch.crates-io.t = { path = \"a\", package = \"tokio\" }\n", Source::Path("a".into())),
        (
            "[patch.'https://github.com/rust-lang/crates.io-index']\ntokio = { path = \"a\" }\n",
            Source::Path("a".into()),
        ),
    ];
    for (text, source) in cases {
        assert_eq!(found(text).source, source, "{text}");
    }
    assert!(find("[patch").is_err());
}

#[test]
fn comments_stay_when_the_entry_goes() {
    let text = "# why we patch\n[patch.crates-io]\n# and this one\ntokio = { path = \"a\" } # gone\n# after\n";
    assert_eq!(removed(text), "# why we patch\n[patch.crates-io]\n# and this one\n# after\n");
    let own_table = "[package]\nname = \"a\"\n\n[patch.crates-io.tokio]\npath = \"a\"\n\n[lints]\n";
    assert_eq!(removed(own_table), "[package]\nname = \"a\"\n\n[lints]\n");
}

#[test]
fn a_layout_that_cannot_be_edited_is_refused_with_the_line_to_write() {
    let inline = "[patch]\ncrates-io = { libc = { path = \"l\" } }\n";
    assert!(insert(inline, &dir()).unwrap_err().contains(LINE));
    let dotted = "patch.crates-io.libc.path = \"l\"\n";
    assert!(insert(dotted, &dir()).unwrap_err().contains(LINE));
    let text = "[patch]\ncrates-io = { tokio = { path = \"a\" } }\n";
    assert!(remove(text, &found(text)).unwrap_err().contains("by hand"));
}

#[test]
fn a_git_repository_can_be_named_with_a_commit() {
    let text = "[package]\nname = \"a\"\n";
    for at in [None, Some(("rev", "0a1b")), Some(("branch", "main"))] {
        let source = git("https://example.org/wakeful", at);
        let with = insert(text, &source).unwrap();
        assert_eq!(found(&with).source, source);
        assert_eq!(removed(&with), text);
    }
    let with = insert(text, &git("https://example.org/wakeful", Some(("tag", "v1")))).unwrap();
    let line = "tokio = { git = \"https://example.org/wakeful\", tag = \"v1\" }";
    assert_eq!(added_lines(text, &with), ["[patch.crates-io]", line]);
}
