use super::*;

#[test]
fn a_verdict_is_remembered_until_changed() {
    let verdicts = Verdicts::<64>::new();
    let (one, other) = (Key::of(b"one"), Key::of(b"other"));
    assert_eq!(verdicts.get(one), None);
    verdicts.set(one, true);
    assert_eq!(verdicts.get(one), Some(true));
    assert_eq!(verdicts.get(other), None);
    verdicts.set(one, false);
    assert_eq!(verdicts.get(one), Some(false));
}

#[test]
fn a_key_makes_room_for_another() {
    let verdicts = Verdicts::<1>::new();
    let (one, other) = (Key::of(b"one"), Key::of(b"other"));
    verdicts.set(one, true);
    verdicts.set(other, false);
    assert_eq!((verdicts.get(one), verdicts.get(other)), (None, Some(false)));
}

#[test]
fn no_key_is_taken_for_an_empty_place() {
    let verdicts = Verdicts::<16>::new();
    for number in 0..10_000u32 {
        assert_eq!(verdicts.get(Key::of(&number.to_le_bytes())), None);
    }
}
