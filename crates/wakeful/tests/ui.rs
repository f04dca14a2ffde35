//! Compiler errors for wrong uses of the macros, and the lines that they point at.
//!
//! Each file in `tests/ui` is a program with mistakes. A line with a mistake ends in `//~` and the
//! beginning of the error message. `//~^` refers to the line above, and each further caret to one
//! line further up. Every expected error must occur in its place, and there must be no other
//! errors.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file, the line and the message.
type CompileError = (String, usize, String);

#[test]
fn errors_point_at_the_users_lines() {
    let cases = cases();
    let compiled = compile(&cases);
    let mut errors: Vec<CompileError> = compiled.lines().filter_map(error_in).collect();
    let mut wrong = String::new();
    for case in &cases {
        let file = file_name(case);
        for (line, text) in expected(case) {
            let is_it = |error: &CompileError| {
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

/// Returns the lines and messages of the errors that `case` expects.
fn expected(case: &Path) -> Vec<(usize, String)> {
    let source = fs::read_to_string(case).unwrap();
    let notes = source.lines().enumerate().filter_map(|(index, line)| {
        let (_, note) = line.split_once("//~")?;
        let text = note.trim_start_matches('^');
        Some((index + 1 - (note.len() - text.len()), text.trim().to_owned()))
    });
    notes.collect()
}

/// Compiles all cases, in a package of their own, and returns the compiler's output.
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
    // Uses the same versions of dependencies as the tests.
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

/// Parses the error in a line `path:line:column: error[code]: text`.
fn error_in(said: &str) -> Option<CompileError> {
    let (place, rest) = said.split_once(": error")?;
    let (_, text) = rest.split_once(": ")?;
    let mut parts = place.rsplitn(3, ':');
    let (_column, line, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some((file_name(Path::new(path)), line.parse().ok()?, text.to_owned()))
}
