use super::*;
use std::cell::Cell;

fn interrupted_twice(to: &Path) -> (io::Result<u64>, u32) {
    let calls = Cell::new(0);
    let result = copy_again_if_interrupted(to, || {
        calls.set(calls.get() + 1);
        if calls.get() < 3 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(7) }
    });
    (result, calls.get())
}

#[test]
fn an_interrupted_copy_to_a_file_starts_over() {
    let (result, calls) = interrupted_twice(Path::new("Cargo.toml"));
    assert_eq!((result.unwrap(), calls), (7, 3));
}

#[test]
fn an_interrupted_copy_to_anything_else_fails() {
    for to in ["/dev/null", "there is no such file"] {
        let (result, calls) = interrupted_twice(Path::new(to));
        assert_eq!((result.unwrap_err().kind(), calls), (io::ErrorKind::Interrupted, 1));
    }
}

#[test]
fn another_error_ends_a_copy() {
    let result = copy_again_if_interrupted(Path::new("Cargo.toml"), || {
        Err(io::ErrorKind::PermissionDenied.into())
    });
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}
