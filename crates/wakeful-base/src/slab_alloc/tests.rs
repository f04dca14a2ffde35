use super::*;
use crate::rng::FastRng;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::mpsc;
use std::thread;

/// A type of a size that no other test uses, so that tests do not share depots.
type Odd<const SIZE: usize> = [u64; SIZE];

fn class<T>() -> usize {
    class_of(Layout::new::<T>()).unwrap()
}

fn slots_of<T>() -> usize {
    Shape::of_class(class::<T>()).slots
}

/// Returns how many slabs of a class this thread has.
fn cached<T>() -> usize {
    // SAFETY: this thread's cache, and the closure does not re-enter it.
    with_cache(|cache| unsafe {
        let cached = &(*cache)[class::<T>()];
        usize::from(!cached.current.is_null()) + cached.spares.count()
    })
}

/// Returns how many slabs of a class are in the depot.
fn in_depot<T>() -> usize {
    DEPOTS[class::<T>()].stock.lock().unwrap().count()
}

fn allocate_all<T>(count: usize) -> Vec<NonNull<T>> {
    (0..count).map(|_| allocate()).collect()
}

fn free_all<T>(pieces: impl IntoIterator<Item = NonNull<T>>) {
    for piece in pieces {
        // SAFETY: allocated by these tests and not used any more.
        unsafe { free(piece) };
    }
}

fn shuffled<T>(mut pieces: Vec<T>) -> Vec<T> {
    let rng = FastRng::from_seed(17);
    for at in (1..pieces.len()).rev() {
        pieces.swap(at, rng.below(at as u32 + 1) as usize);
    }
    pieces
}

/// Pieces on their way to another thread.
struct Sent<T>(Vec<NonNull<T>>);

// SAFETY: the pieces are owned by this value.
unsafe impl<T> Send for Sent<T> {}

impl<T> Sent<T> {
    fn free(self) {
        free_all(self.0);
    }
}

#[test]
fn every_type_gets_a_class_that_it_fits_in_or_none() {
    for size in 0..=SIZE_MAX + 100 {
        for align in [1, 2, 4, 8, 16, 32, 64] {
            let layout = Layout::from_size_align(size, align).unwrap();
            match class_of(layout) {
                Some(class) => {
                    assert!(size_of_class(class) >= size && ALIGN >= align);
                    assert!(class == 0 || size_of_class(class - 1) < size, "{size}");
                }
                None => assert!(size == 0 || size > SIZE_MAX || align > ALIGN),
            }
        }
    }
}

#[test]
fn a_freed_piece_is_reused() {
    let first = allocate::<Odd<5>>();
    // SAFETY: allocated above and not used any more.
    unsafe { free(first) };
    let second = allocate::<Odd<5>>();
    assert_eq!(first, second);
    // SAFETY: allocated above and not used any more.
    unsafe { free(second) };
}

#[test]
fn every_shape_has_slots_and_a_threshold_that_can_be_reached() {
    for shape in (0..CLASSES).map(Shape::of_class) {
        assert!((SLOTS_MIN..=SLOTS_MAX).contains(&shape.slots), "{shape:?}");
        assert_eq!(shape.all_slots().count_ones() as usize, shape.slots);
        assert!((1..=shape.slots as u32).contains(&shape.enough()), "{shape:?}");
        let pieces = shape.slab_layout().size() - FIRST_PIECE;
        assert!(pieces <= SLAB_BYTES.max(SLOTS_MIN * shape.stride), "{shape:?}");
        assert!((1..=128).contains(&shape.kept_in_depot()), "{shape:?}");
    }
}

#[test]
fn pieces_of_a_slab_are_handed_out_in_the_order_of_their_addresses() {
    type Piece = Odd<17>;
    let pieces = allocate_all::<Piece>(slots_of::<Piece>());
    assert!(pieces.is_sorted() && pieces.iter().all(|piece| piece.is_aligned()));
    free_all(shuffled(pieces.clone()));
    let again = allocate_all::<Piece>(slots_of::<Piece>());
    assert_eq!(again, pieces);
    free_all(again);
}

#[test]
fn a_thread_keeps_some_slabs_and_passes_the_rest_on_up_to_a_bound() {
    type Piece = Odd<7>;
    let kept = Shape::of_class(class::<Piece>()).kept_in_depot();
    let pieces = allocate_all::<Piece>((kept + 9) * slots_of::<Piece>());
    free_all(pieces);
    assert_eq!((cached::<Piece>(), in_depot::<Piece>()), (1 + SPARES_MAX, kept));
    // Another thread takes slabs from the depot, and leaves its own there when it exits.
    let other = thread::spawn(move || {
        let piece = allocate::<Piece>();
        assert_eq!((cached::<Piece>(), in_depot::<Piece>()), (1, kept - 1));
        free_all([piece]);
    });
    other.join().unwrap();
    assert_eq!(in_depot::<Piece>(), kept);
}

#[test]
fn slots_in_use_do_not_keep_the_rest_of_a_slab_from_reuse() {
    type Piece = Odd<19>;
    let slots = slots_of::<Piece>();
    let mut pieces = allocate_all::<Piece>(10 * slots);
    // One piece of each slab stays in use.
    let kept: Vec<_> = (0..10).map(|slab| pieces.remove(slab * (slots - 1))).collect();
    let freed: HashSet<_> = pieces.iter().copied().collect();
    free_all(pieces);
    let again = allocate_all::<Piece>(freed.len());
    let reused = again.iter().filter(|piece| freed.contains(piece)).count();
    assert_eq!(reused, freed.len());
    free_all(again.into_iter().chain(kept));
}

#[test]
fn pieces_freed_by_other_threads_are_reused() {
    type Piece = Odd<23>;
    let count = 10 * slots_of::<Piece>();
    let pieces = allocate_all::<Piece>(count);
    let before: HashSet<_> = pieces.iter().copied().collect();
    let pieces = Sent(pieces);
    thread::spawn(move || pieces.free()).join().unwrap();
    let again = allocate_all::<Piece>(count);
    let reused = again.iter().filter(|piece| before.contains(piece)).count();
    // The last slab still belongs to this thread, which takes its returned slots back.
    assert_eq!(reused, count);
    free_all(again);
}

#[test]
fn memory_that_many_threads_leave_behind_is_bounded() {
    type Piece = Odd<29>;
    let slots = slots_of::<Piece>();
    for _ in 0..20 {
        let pieces =
            thread::spawn(move || Sent(allocate_all::<Piece>(5 * slots + 1))).join().unwrap();
        thread::spawn(move || pieces.free()).join().unwrap();
    }
    assert_eq!(cached::<Piece>(), 0);
    assert!(in_depot::<Piece>() <= 7, "{}", in_depot::<Piece>());
}

#[test]
fn slots_that_were_free_when_a_thread_ended_are_not_lost() {
    fn check<T: 'static>(in_use: usize) {
        let pieces = thread::spawn(move || Sent(allocate_all::<T>(in_use))).join().unwrap();
        pieces.free();
        let all = allocate_all::<T>(slots_of::<T>());
        assert_eq!((cached::<T>(), in_depot::<T>()), (1, 0));
        free_all(all);
    }
    check::<Odd<31>>(1);
    check::<Odd<37>>(slots_of::<Odd<37>>() - 1);
}

#[test]
fn slabs_that_become_all_free_in_the_depot_are_freed() {
    type Piece = Odd<41>;
    let slabs = if cfg!(miri) { 50 } else { 1_000 };
    let pieces = allocate_all::<Piece>(slabs * slots_of::<Piece>());
    // The slabs come to the depot with a quarter of their slots free, nearly all at the same time.
    // The remaining slots are returned there.
    free_all(shuffled(pieces));
    let bound = Shape::of_class(class::<Piece>()).kept_in_depot() + slabs / 20;
    assert!(in_depot::<Piece>() <= bound, "{} of {slabs}", in_depot::<Piece>());
}

#[test]
fn a_thread_that_cannot_lock_the_depot_keeps_few_slabs_and_passes_them_on_later() {
    type Piece = Odd<43>;
    let slots = slots_of::<Piece>();
    let pieces = allocate_all::<Piece>(60 * slots);
    let locked = DEPOTS[class::<Piece>()].stock.lock().unwrap();
    let (with_others, alone) = pieces.split_at(50 * slots);
    free_all(with_others.iter().copied());
    assert!((2..=2 + SPARES_HARD_MAX).contains(&cached::<Piece>()), "{}", cached::<Piece>());
    drop(locked);
    free_all(alone.iter().copied());
    assert_eq!(cached::<Piece>(), 1 + SPARES_MAX);
}

#[test]
fn a_thread_whose_cache_is_gone_allocates_and_frees_without_it() {
    type Piece = Odd<11>;

    struct Late(RefCell<Vec<NonNull<Piece>>>);

    impl Drop for Late {
        fn drop(&mut self) {
            assert!(!is_cache_usable());
            free_all(self.0.take());
            let lone = allocate::<Piece>();
            // SAFETY: each piece has a tag.
            assert!(unsafe { tag(lone.cast()).read() }.is_null());
            free_all([lone]);
            assert_eq!(cached::<Piece>(), 0);
        }
    }

    thread_local! {
        static LATE: Late = const { Late(RefCell::new(Vec::new())) };
    }
    let other = thread::spawn(|| {
        // Initialised before the cache, so that it is dropped after it.
        LATE.with(|late| {
            late.0.borrow_mut().extend(allocate_all::<Piece>(5 * slots_of::<Piece>()));
        });
    });
    other.join().unwrap();
    assert_eq!(in_depot::<Piece>(), 5);
}

/// A piece filled with a mark.
struct Marked(NonNull<Odd<13>>, u64);

// SAFETY: the piece is owned by this value.
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
        // SAFETY: written by `new`, and owned by this value.
        unsafe {
            assert_eq!(piece.read(), [mark; 13]);
            free(piece);
        }
    }
}

/// Allocates pieces, passes some on, and checks and frees its own and those it receives. Some are
/// left when it returns.
fn handle_pieces(seed: u64, next: &mpsc::Sender<Marked>, from_others: &mpsc::Receiver<Marked>) {
    const STEPS: u64 = if cfg!(miri) { 200 } else { 20_000 };
    let rng = FastRng::from_seed(seed);
    let mut own: Vec<Marked> = Vec::new();
    for step in 0..STEPS {
        match rng.below(8) {
            0..4 => own.push(Marked::new((seed << 32) | step)),
            4..6 if !own.is_empty() => {
                let at = rng.below(own.len() as u32) as usize;
                own.swap_remove(at).check_and_free();
            }
            6 => drop(own.pop().map(|marked| next.send(marked).unwrap())),
            _ => from_others.try_iter().take(4).for_each(Marked::check_and_free),
        }
    }
    let distinct: HashSet<_> = own.iter().map(|marked| marked.0).collect();
    assert_eq!(distinct.len(), own.len());
    let (pass_on, free): (Vec<_>, Vec<_>) = own.into_iter().partition(|_| rng.below(2) == 0);
    free.into_iter().for_each(Marked::check_and_free);
    pass_on.into_iter().for_each(|marked| next.send(marked).unwrap());
}

#[test]
fn no_piece_is_handed_out_twice() {
    const THREADS: u64 = 4;
    const GENERATIONS: u64 = 5;
    // Each thread passes pieces on to the next. Threads exit, and new ones take their places.
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::channel::<Marked>()).unzip();
    let receivers: Vec<_> = receivers.into_iter().map(std::sync::Mutex::new).collect();
    for generation in 0..GENERATIONS {
        thread::scope(|scope| {
            for (index, from_others) in (0..THREADS).zip(&receivers) {
                let next = senders[((index + 1) % THREADS) as usize].clone();
                let seed = 1 + index + generation * THREADS;
                scope.spawn(move || handle_pieces(seed, &next, &from_others.lock().unwrap()));
            }
        });
    }
    drop(senders);
    let left = receivers.into_iter().flat_map(|receiver| receiver.into_inner().unwrap());
    left.for_each(Marked::check_and_free);
    assert!(in_depot::<Odd<13>>() > 0);
}
