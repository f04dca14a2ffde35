use super::*;

/// Returns whether this thread blocks each of the handled signals.
fn is_blocked() -> [bool; 4] {
    let mut mask = MaybeUninit::uninit();
    // SAFETY: the pointer is valid during the call. Without a new mask, the call only writes the
    // present one.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr()) };
    // SAFETY: the call above has written `mask`.
    HANDLED.map(|signal| unsafe { libc::sigismember(mask.as_ptr(), signal) } == 1)
}

#[test]
fn a_spawned_thread_blocks_the_handled_signals_and_its_parent_stays_unchanged() {
    let before = is_blocked();
    assert_eq!(spawn_without_signals(is_blocked).join().unwrap(), [true; 4]);
    assert_eq!(is_blocked(), before);
}
