//! Memory of small things that come and go, kept at hand.
//!
//! A task is often made on one thread and freed on another, again and again. Many allocators, glibc's among
//! them, take a lock for either then, and it is the same one. Here a thread keeps what it frees, up to two
//! **magazines** of a few kilobytes for each size, and takes from them first. A thread that frees more than it
//! needs passes full magazines on, one that needs more than it frees takes them: one lock for dozens of
//! pieces, not one for each.
//!
//! ```text
//!    thread that spawns                     thread that polls to the end
//!    ┌────────┬────────┐    ┌───────┐       ┌────────┬────────┐
//!    │ loaded │ spare  │ ◀──│ depot │◀───── │ spare  │ loaded │
//!    └────────┴────────┘    └───────┘ full  └────────┴────────┘
//!      ▼ allocate             │ too full                ▲ free
//!                             ▼
//!                          the allocator
//! ```
//!
//! What is kept is bounded: `MAGAZINE_BYTES` twice for each size that a thread uses, half a megabyte at the
//! most, and `DEPOT_MAGAZINES` for each size in all, eight megabytes at the most. A thread that ends leaves
//! its own to the others.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::mem::replace;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// From one class of sizes to the next; also how all pieces are aligned.
const STEP: usize = 16;

/// The size of the first class. Most allocators have 8 bytes of their own in each multiple of 16.
const SIZE_MIN: usize = STEP + 8;

const CLASSES: usize = 32;

const MAGAZINE_BYTES: usize = 8 * 1024;

const DEPOT_MAGAZINES: usize = 32;

const _: () = assert!(SIZE_MIN >= size_of::<Piece>() && STEP >= align_of::<Piece>());

/// Miri and loom are to see every allocation; but this is to be tested with Miri as well.
const IS_ON: bool = !cfg!(wakeful_loom) && (!cfg!(miri) || cfg!(test));

/// Memory for a `T`.
#[inline]
pub fn allocate<T>() -> NonNull<T> {
    match const { class_of(Layout::new::<T>()) } {
        Some(class) => allocate_class(class).cast(),
        None => allocate_layout(Layout::new::<T>()).cast(),
    }
}

/// Gives it back.
///
/// # Safety
/// `piece` must come from [`allocate`] for a type of the same size and alignment; nobody uses it any more.
#[inline]
pub unsafe fn free<T>(piece: NonNull<T>) {
    match const { class_of(Layout::new::<T>()) } {
        // SAFETY: it is of this class, and the caller's to give.
        Some(class) => unsafe { free_class(piece.cast(), class) },
        // SAFETY: allocated with the layout of `T`.
        None => unsafe { dealloc(piece.as_ptr().cast(), Layout::new::<T>()) },
    }
}

const fn class_of(layout: Layout) -> Option<usize> {
    let steps = layout.size().saturating_sub(SIZE_MIN).div_ceil(STEP);
    let fits = layout.size() > 0 && steps < CLASSES && layout.align() <= STEP;
    if IS_ON && fits { Some(steps) } else { None }
}

const fn size_of_class(class: usize) -> usize {
    SIZE_MIN + class * STEP
}

const fn layout_of(class: usize) -> Layout {
    match Layout::from_size_align(size_of_class(class), STEP) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

fn allocate_layout(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0, "there is no memory for a type without size");
    // SAFETY: not of size zero.
    let piece = unsafe { alloc(layout) };
    NonNull::new(piece).unwrap_or_else(|| handle_alloc_error(layout))
}

#[inline]
fn allocate_class(class: usize) -> NonNull<u8> {
    // SAFETY: only this thread gets at its cache, and nothing in here comes back to it: no code but ours is
    // called, the allocator's neither.
    let at_hand = with_cache(|cache| unsafe { (*cache)[class].take(class) }).flatten();
    at_hand.unwrap_or_else(|| allocate_layout(layout_of(class)))
}

/// # Safety
/// As of [`free`], for a piece of this class.
#[inline]
unsafe fn free_class(piece: NonNull<u8>, class: usize) {
    // SAFETY: as above; the piece is the caller's.
    let is_kept = with_cache(|cache| unsafe { (*cache)[class].put(piece, class) });
    if is_kept != Some(true) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(piece.as_ptr(), layout_of(class)) };
    }
}

/// A piece that nobody uses.
struct Piece {
    next: *mut Piece,
}

/// Pieces of one class.
struct Magazine {
    first: *mut Piece,
    count: usize,
}

// SAFETY: the pieces are the magazine's alone.
unsafe impl Send for Magazine {}

impl Magazine {
    const EMPTY: Magazine = Magazine { first: ptr::null_mut(), count: 0 };

    #[inline]
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: what is in a magazine is a `Piece`.
        self.first = unsafe { first.as_ref() }.next;
        self.count -= 1;
        Some(first.cast())
    }

    /// # Safety
    /// `piece` must be the caller's to give, and have room for a `Piece`.
    #[inline]
    unsafe fn push(&mut self, piece: NonNull<u8>) {
        let piece = piece.cast::<Piece>();
        // SAFETY: by contract; the alignment of pieces is enough for a pointer.
        unsafe { piece.write(Piece { next: self.first }) };
        self.first = piece.as_ptr();
        self.count += 1;
    }

    fn is_full(&self, class: usize) -> bool {
        self.count >= MAGAZINE_BYTES / size_of_class(class)
    }

    /// Gives all pieces back to the allocator.
    fn free_all(mut self, class: usize) {
        while let Some(piece) = self.pop() {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(piece.as_ptr(), layout_of(class)) };
        }
    }
}

/// What a thread has of one class.
struct AtHand {
    loaded: Magazine,
    /// Either empty or full.
    spare: Magazine,
}

impl AtHand {
    const EMPTY: AtHand = AtHand { loaded: Magazine::EMPTY, spare: Magazine::EMPTY };

    #[inline]
    fn take(&mut self, class: usize) -> Option<NonNull<u8>> {
        self.loaded.pop().or_else(|| self.take_from_next(class))
    }

    #[cold]
    fn take_from_next(&mut self, class: usize) -> Option<NonNull<u8>> {
        if self.spare.count > 0 {
            self.loaded = replace(&mut self.spare, Magazine::EMPTY);
        } else if DEPOTS[class].has_any() {
            self.loaded = DEPOTS[class].take()?;
        }
        self.loaded.pop()
    }

    /// False if there is no room for it, here or elsewhere.
    ///
    /// # Safety
    /// As of [`Magazine::push`].
    #[inline]
    unsafe fn put(&mut self, piece: NonNull<u8>, class: usize) -> bool {
        if self.loaded.is_full(class) && !self.make_room(class) {
            return false;
        }
        // SAFETY: by contract.
        unsafe { self.loaded.push(piece) };
        true
    }

    #[cold]
    fn make_room(&mut self, class: usize) -> bool {
        if self.spare.count > 0 && !DEPOTS[class].put(&mut self.spare) {
            return false;
        }
        self.spare = replace(&mut self.loaded, Magazine::EMPTY);
        true
    }
}

/// Magazines of one class, for whichever thread needs one.
struct Depot {
    stock: Mutex<Stock>,
    /// How many there are, for who only wants to know whether it is worth the lock.
    count: AtomicUsize,
}

/// Of a fixed size: a depot is used while a thread's cache is, and must not call the allocator.
struct Stock {
    magazines: [Magazine; DEPOT_MAGAZINES],
    count: usize,
}

static DEPOTS: [Depot; CLASSES] = [const {
    let stock = Stock { magazines: [const { Magazine::EMPTY }; DEPOT_MAGAZINES], count: 0 };
    Depot { stock: Mutex::new(stock), count: AtomicUsize::new(0) }
}; CLASSES];

impl Depot {
    /// Not worth waiting for, least of all in a process that was forked while somebody held it.
    fn lock(&self) -> Option<MutexGuard<'_, Stock>> {
        self.stock.try_lock().ok()
    }

    fn has_any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    fn take(&self) -> Option<Magazine> {
        let mut stock = self.lock()?;
        stock.count = stock.count.checked_sub(1)?;
        let at = stock.count;
        self.count.store(at, Relaxed);
        Some(replace(&mut stock.magazines[at], Magazine::EMPTY))
    }

    /// Takes the magazine's pieces, unless there are enough or somebody is at it.
    fn put(&self, magazine: &mut Magazine) -> bool {
        if self.count.load(Relaxed) >= DEPOT_MAGAZINES {
            return false;
        }
        let Some(mut stock) = self.lock() else { return false };
        let at = stock.count;
        let Some(place) = stock.magazines.get_mut(at) else { return false };
        *place = replace(magazine, Magazine::EMPTY);
        stock.count = at + 1;
        self.count.store(at + 1, Relaxed);
        true
    }
}

struct Cache(UnsafeCell<[AtHand; CLASSES]>);

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, at_hand) in self.0.get_mut().iter_mut().enumerate() {
            for magazine in [&mut at_hand.loaded, &mut at_hand.spare] {
                if magazine.count > 0 && !DEPOTS[class].put(magazine) {
                    replace(magazine, Magazine::EMPTY).free_all(class);
                }
            }
        }
    }
}

/// None at the end of a thread, when its cache is gone.
#[inline]
fn with_cache<R>(f: impl FnOnce(*mut [AtHand; CLASSES]) -> R) -> Option<R> {
    thread_local! {
        static CACHE: Cache = const { Cache(UnsafeCell::new([const { AtHand::EMPTY }; CLASSES])) };
    }
    CACHE.try_with(|cache| f(cache.0.get())).ok()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
