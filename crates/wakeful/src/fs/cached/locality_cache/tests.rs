use super::*;

#[test]
fn an_answer_is_cached_until_it_is_changed() {
    let cache = LocalityCache::<64>::new();
    let (one, other) = (Key::of(b"one"), Key::of(b"other"));
    assert_eq!(cache.get(one), None);
    cache.set(one, true);
    assert_eq!(cache.get(one), Some(true));
    assert_eq!(cache.get(other), None);
    cache.set(one, false);
    assert_eq!(cache.get(one), Some(false));
}

#[test]
fn a_key_displaces_another_one() {
    let cache = LocalityCache::<1>::new();
    let (one, other) = (Key::of(b"one"), Key::of(b"other"));
    cache.set(one, true);
    cache.set(other, false);
    assert_eq!((cache.get(one), cache.get(other)), (None, Some(false)));
}

#[test]
fn no_key_matches_an_empty_entry() {
    let cache = LocalityCache::<16>::new();
    for number in 0..10_000u32 {
        assert_eq!(cache.get(Key::of(&number.to_le_bytes())), None);
    }
}
