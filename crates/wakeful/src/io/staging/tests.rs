use super::*;

fn slices<'a>(parts: &[&'a [u8]]) -> Vec<IoSlice<'a>> {
    parts.iter().map(|part| IoSlice::new(part)).collect()
}

fn drain(staging: &mut Staging, step: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while !staging.is_empty() {
        let mut bytes = vec![0; step];
        let mut buf = ReadBuf::new(&mut bytes);
        staging.copy_to(&mut buf);
        out.extend_from_slice(buf.filled());
    }
    out
}

#[test]
fn what_is_copied_in_comes_out_in_steps() {
    let mut staging = Staging::default();
    staging.copy_from(&slices(&[b"ab", b"", b"cdefg"]), 0, 7);
    assert_eq!(staging.len(), 7);
    assert_eq!(drain(&mut staging, 3), b"abcdefg");
    staging.copy_from(&slices(&[b"xy"]), 0, 2);
    assert_eq!(drain(&mut staging, 1), b"xy");
}

#[test]
fn a_part_of_some_slices_is_copied_in() {
    let parts: [&[u8]; 3] = [b"abc", b"def", b"ghi"];
    let all = parts.concat();
    for skip in 0..=9 {
        for n in 0..=9 - skip {
            let mut staging = Staging::default();
            staging.copy_from(&slices(&parts), skip, n);
            assert_eq!(drain(&mut staging, 4), all[skip..skip + n]);
        }
    }
}

struct Fails;

impl Read for Fails {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[test]
fn reading_on_adds_to_what_is_there() {
    let mut staging = Staging::default();
    staging.copy_from(&slices(&[b"abc"]), 0, 3);
    staging.read_from(&mut &b"defgh"[..], 4).unwrap();
    staging.read_from(&mut Fails, 4).unwrap();
    assert_eq!(drain(&mut staging, 16), b"abcdefg");
    let error = staging.read_from(&mut Fails, 4).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn a_read_that_is_interrupted_is_tried_again() {
    struct Interrupted(bool);
    impl Read for Interrupted {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if !std::mem::replace(&mut self.0, true) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            buf[0] = 7;
            Ok(1)
        }
    }
    let mut staging = Staging::default();
    staging.read_from(&mut Interrupted(false), 4).unwrap();
    assert_eq!(drain(&mut staging, 16), [7]);
}

#[test]
fn memory_is_used_again() {
    let mut staging = Staging::default();
    staging.read_from(&mut &[1; 100][..], 100).unwrap();
    let address = staging.bytes.as_ptr();
    for n in [100, 20, 100] {
        staging.clear();
        staging.copy_from(&slices(&[&[2; 100]]), 0, n);
        let mut out = Vec::new();
        staging.write_to(&mut out).unwrap();
        assert_eq!(out, vec![2; n]);
    }
    assert_eq!(staging.bytes.as_ptr(), address);
}
