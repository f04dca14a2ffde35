use super::*;
use crate::rng::FastRng;
use std::collections::HashSet;
use std::sync::mpsc;
use std::thread;

/// Of a size that no other test uses, so that depots are not shared with them.
type Odd<const SIZE: usize> = [u64; SIZE];

fn at_hand<T>() -> usize {
    let class = class_of(Layout::new::<T>()).unwrap();
    // SAFETY: on this thread, and nothing comes back to the cache.
    with_cache(|cache| unsafe { (&raw const (*cache)[class]).as_ref() }.unwrap().count()).unwrap()
}

impl AtHand {
    fn count(&self) -> usize {
        self.loaded.count + self.spare.count
    }
}

fn in_depot<T>() -> usize {
    DEPOTS[class_of(Layout::new::<T>()).unwrap()].lock().unwrap().count
}

fn magazine_of<T>() -> usize {
    MAGAZINE_BYTES / size_of_class(class_of(Layout::new::<T>()).unwrap())
}

#[test]
fn every_type_gets_a_class_that_it_fits_in_or_none() {
    for size in 0..=1024 {
        for align in [1, 2, 4, 8, 16, 32, 64] {
            let layout = Layout::from_size_align(size, align).unwrap();
            match class_of(layout) {
                Some(class) => {
                    assert!(layout_of(class).size() >= size && layout_of(class).align() >= align);
                    assert!(class == 0 || layout_of(class - 1).size() < size, "{size}");
                }
                None => assert!(size == 0 || size > 500 || align > 16),
            }
        }
    }
}

#[test]
fn what_was_freed_last_is_used_next() {
    let first = allocate::<Odd<5>>();
    // SAFETY: ours, and not used any more.
    unsafe { free(first) };
    let second = allocate::<Odd<5>>();
    assert_eq!(first, second);
    // SAFETY: as above.
    unsafe { free(second) };
}

#[test]
fn a_thread_keeps_two_magazines_and_passes_the_rest_on_up_to_a_bound() {
    type Piece = Odd<7>;
    let many = (DEPOT_MAGAZINES + 5) * magazine_of::<Piece>();
    let pieces: Vec<_> = (0..many).map(|_| allocate::<Piece>()).collect();
    for piece in pieces {
        // SAFETY: ours, and not used any more.
        unsafe { free(piece) };
    }
    assert_eq!(at_hand::<Piece>(), 2 * magazine_of::<Piece>());
    assert_eq!(in_depot::<Piece>(), DEPOT_MAGAZINES);
    // Another thread takes from the depot, and leaves what it has there.
    let other = thread::spawn(|| {
        let piece = allocate::<Piece>();
        assert_eq!(in_depot::<Piece>(), DEPOT_MAGAZINES - 1);
        assert_eq!(at_hand::<Piece>(), magazine_of::<Piece>() - 1);
        // SAFETY: as above.
        unsafe { free(piece) };
    });
    other.join().unwrap();
    assert_eq!(in_depot::<Piece>(), DEPOT_MAGAZINES);
}

#[test]
fn pieces_can_be_freed_when_the_cache_of_the_thread_is_gone() {
    struct FreesLate(NonNull<Odd<11>>);

    impl Drop for FreesLate {
        fn drop(&mut self) {
            // SAFETY: ours, and not used any more.
            unsafe { free(self.0) };
        }
    }

    thread_local! {
        static LATE: FreesLate = FreesLate(allocate());
    }
    // Destructors run in an order that is not ours to choose: once before the cache's, once after.
    for cache_first in [true, false] {
        thread::spawn(move || {
            if cache_first {
                // SAFETY: ours, and not used any more.
                unsafe { free(allocate::<Odd<11>>()) };
            }
            LATE.with(|_| ());
        })
        .join()
        .unwrap();
    }
}

/// A piece, and what it is full of.
struct Marked(NonNull<Odd<13>>, u64);

// SAFETY: whoever has this has the piece.
unsafe impl Send for Marked {}

impl Marked {
    fn new(mark: u64) -> Marked {
        let piece = allocate::<Odd<13>>();
        // SAFETY: just allocated.
        unsafe { piece.write([mark; 13]) };
        Marked(piece, mark)
    }

    fn check_and_free(self) {
        let Marked(piece, mark) = self;
        // SAFETY: written by `new`, and ours.
        unsafe {
            assert_eq!(piece.read(), [mark; 13]);
            free(piece);
        }
    }
}

#[test]
fn nobody_gets_what_somebody_else_has() {
    const THREADS: u64 = 4;
    const STEPS: usize = if cfg!(miri) { 200 } else { 50_000 };
    // Each passes pieces on to the next, who checks and frees them.
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::channel::<Marked>()).unzip();
    thread::scope(|scope| {
        for (index, from_others) in (0..THREADS).zip(receivers) {
            let next = senders[((index + 1) % THREADS) as usize].clone();
            scope.spawn(move || {
                let rng = FastRng::from_seed(index + 1);
                let mut own: Vec<Marked> = Vec::new();
                for step in 0..STEPS as u64 {
                    match rng.below(8) {
                        0..4 => own.push(Marked::new((index << 32) | step)),
                        4..6 => drop(own.pop().map(Marked::check_and_free)),
                        6 => drop(own.pop().map(|marked| next.send(marked).unwrap())),
                        _ => from_others.try_iter().take(4).for_each(Marked::check_and_free),
                    }
                }
                let distinct: HashSet<_> = own.iter().map(|marked| marked.0).collect();
                assert_eq!(distinct.len(), own.len());
                own.into_iter().for_each(Marked::check_and_free);
                drop(next);
                from_others.into_iter().for_each(Marked::check_and_free);
            });
        }
        drop(senders);
    });
}
