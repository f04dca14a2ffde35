//! What the compiler says when the macros are used wrongly, and which line it points at.
//!
//! Each file in `tests/ui` is a program with mistakes. A line that has one ends in `//~` and how the
//! error's text begins; `//~^` is about the line above, and with more carets about lines further up.
//! Every error must be where it is said to be, and there must be no other.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File, line, text.
type Found = (String, usize, String);

#[test]
fn errors_point_at_the_users_lines() {
    let cases = cases();
    let compiled = compile(&cases);
    let mut errors: Vec<Found> = compiled.lines().filter_map(error_in).collect();
    let mut wrong = String::new();
    for case in &cases {
        let file = file_name(case);
        for (line, text) in expected(case) {
            let is_it = |error: &Found| {
                error.0 == file && error.1 == line && error.2.starts_with(text.as_str())
            };
            match errors.iter().position(is_it) {
                Some(at) => drop(errors.remove(at)),
                None => _ = writeln!(wrong, "no error in {file}:{line}: {text}"),
            }
        }
    }
    for (file, line, text) in errors {
        _ = writeln!(wrong, "unexpected: {file}:{line}: {text}");
    }
    assert!(wrong.is_empty(), "{wrong}\nThe compiler said:\n{compiled}");
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let files: BTreeSet<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    files.into_iter().collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Lines and texts of the errors that a case is to bring.
fn expected(case: &Path) -> Vec<(usize, String)> {
    let source = fs::read_to_string(case).unwrap();
    let notes = source.lines().enumerate().filter_map(|(index, line)| {
        let (_, note) = line.split_once("//~")?;
        let text = note.trim_start_matches('^');
        Some((index + 1 - (note.len() - text.len()), text.trim().to_owned()))
    });
    notes.collect()
}

/// Lets the compiler check all cases, in a package of their own, and returns what it says.
fn compile(cases: &[PathBuf]) -> String {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    fs::create_dir_all(&package).unwrap();
    let mut manifest = format!(
        "[package]\nname = 'ui'\nedition = '2024'\nautobins = false\n[workspace]\n\
         [dependencies]\nwakeful = {{ path = '{}', features = ['macros', 'time'] }}\n",
        library.display()
    );
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap();
        _ = write!(manifest, "[[bin]]\nname = '{name}'\npath = '{}'\n", case.display());
    }
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    // The versions that the tests are built with.
    fs::copy(library.join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--tests", "--offline", "--keep-going", "--quiet", "--color=never"])
        .arg("--message-format=short")
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env_remove("RUSTFLAGS")
        .current_dir(&package)
        .output()
        .unwrap();
    String::from_utf8(output.stderr).unwrap()
}

/// The error in a line `path:line:column: error[code]: text`.
fn error_in(said: &str) -> Option<Found> {
    let (place, rest) = said.split_once(": error")?;
    let (_, text) = rest.split_once(": ")?;
    let mut parts = place.rsplitn(3, ':');
    let (_column, line, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some((file_name(Path::new(path)), line.parse().ok()?, text.to_owned()))
}
