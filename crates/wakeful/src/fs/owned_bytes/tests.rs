use super::*;

fn address(bytes: &impl AsRef<[u8]>) -> *const u8 {
    bytes.as_ref().as_ptr()
}

#[test]
fn a_vector_and_a_string_are_moved() {
    let bytes = b"some bytes".to_vec();
    let before = address(&bytes);
    assert_eq!(address(&OwnedBytes::of(bytes)), before);

    let text = String::from("some text");
    let before = address(&text);
    assert_eq!(address(&OwnedBytes::of(text)), before);
}

#[cfg(feature = "io-util")]
#[test]
fn shared_bytes_are_moved() {
    let bytes = bytes::Bytes::from(b"some bytes".to_vec());
    let before = address(&bytes);
    assert_eq!(address(&OwnedBytes::of(bytes)), before);
}

#[test]
fn borrowed_bytes_are_copied() {
    let bytes = b"some bytes".to_vec();
    let text = String::from("some bytes");
    for copy in [
        OwnedBytes::of(&bytes),
        OwnedBytes::of(&bytes[..]),
        OwnedBytes::of(&text),
        OwnedBytes::of(text.as_str()),
        OwnedBytes::of(Box::<[u8]>::from(&bytes[..])),
    ] {
        assert_eq!(copy.as_ref(), bytes);
        assert_ne!(address(&copy), address(&bytes));
        assert_ne!(address(&copy), address(&text));
    }
}

#[test]
fn a_type_with_a_lifetime_is_copied() {
    struct Borrows<'a>(&'a [u8]);
    impl AsRef<[u8]> for Borrows<'_> {
        fn as_ref(&self) -> &[u8] {
            self.0
        }
    }
    let bytes = vec![7; 32];
    assert_eq!(OwnedBytes::of(Borrows(&bytes)), OwnedBytes::Vec(bytes.clone()));
}
