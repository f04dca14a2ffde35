//! Memory of small things that come and go, kept at hand.
//!
//! A task is often made on one thread and freed on another, again and again. Many allocators, glibc's among
//! them, take a lock for either then, and it is the same one. Here memory is asked for by the **slab**, some
//! dozens of pieces at a time, and freed by the slab when all of them are. A thread takes pieces from a slab of its
//! own, and gives those of others back with one atomic operation. Who gave back enough of one that
//! nobody owns gets it; a thread that frees more than it needs passes slabs on, one that needs more than it frees takes
//! them.
//!
//! ```text
//!    thread that spawns                          thread that polls to the end
//!    ┌─────────┬────────┐    ┌───────┐           ┌────────┬─────────┐
//!    │ current │ spares │◀───│ depot │◀───────── │ spares │ current │
//!    └─────────┴────────┘    └───────┘ too many  └────────┴─────────┘
//!      │ allocate                │ all free          ▲ of which enough are free again
//!      │                         ▼                   │
//!      │                   the allocator             │
//!      └──────────▶ slabs with all pieces in use ────┘
//! ```
//!
//! Pieces of a slab are handed out in the order of their addresses. So tasks that are spawned one after another,
//! and move to another worker together, share hardly a cache line with those that stay, however long
//! the program runs. (200 tasks that yield on two workers: 11.4 ns per yield instead of 16.3.)
//!
//! What is kept although it is all free: `SPARES_MAX` slabs, and one in use, for each size that a thread uses, and
//! `DEPOT_BYTES` for each size in all. Slabs that become all free in a depot are found by looking at some of them for each that
//! does. A thread that ends leaves its own to the others.

mod slab;
mod slabs;

use slab::{Owner, Returned, SLOTS_MAX, Slab};
use slabs::Slabs;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::mem::replace;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::thread;

/// How all pieces are aligned.
const ALIGN: usize = 16;

/// From one class of sizes to the next, up to `FINE_MAX` and after it.
const STEP: usize = ALIGN;
const WIDE_STEP: usize = 4 * ALIGN;

/// The smallest size, the last in small steps, and one that most tasks are below. With its tag, a piece takes up a
/// multiple of `ALIGN`.
const SIZE_MIN: usize = 2 * ALIGN - size_of::<Tag>();
const FINE_MAX: usize = SIZE_MIN + (FINE_CLASSES - 1) * STEP;
const SIZE_MAX: usize = 4 * 1024;

const FINE_CLASSES: usize = 32;
const CLASSES: usize = FINE_CLASSES + (SIZE_MAX - FINE_MAX).div_ceil(WIDE_STEP);

/// What the pieces of a slab take up at most, unless they would be fewer than `SLOTS_MIN`.
const SLAB_BYTES: usize = 8 * 1024;

const SLOTS_MIN: usize = 8;

/// Slabs that a thread keeps of each class besides the one it takes from.
const SPARES_MAX: usize = 2;

/// Beyond so many it frees those that it can, if it does not get at the depot.
const SPARES_HARD_MAX: usize = 8;

/// What the slabs of a class that wait in the depot take up before those that are all free go back to the allocator.
const DEPOT_BYTES: usize = 128 * 1024;

/// How many slabs in a depot are looked at, whether they are all free, for each that comes there or becomes free there.
const DEPOT_SCAN: usize = 4;

/// How often a thread that is about to end tries to get at the depot: somebody may have forked while it was locked.
const EXIT_TRIES: usize = 10_000;

/// Whether there are slabs at all. Miri and loom see every allocation, and so does AddressSanitizer
/// in a build with `--cfg wakeful_no_slab`. The tests of this module always have slabs, under Miri too.
const IS_ON: bool = !cfg!(wakeful_loom) && (cfg!(test) || !cfg!(any(miri, wakeful_no_slab)));

/// In front of each piece: the slab that it is of, if it is of one.
type Tag = *mut Slab;

/// Where the first piece of a slab is.
const FIRST_PIECE: usize = (size_of::<Slab>() + size_of::<Tag>()).next_multiple_of(ALIGN);

const _: () = assert!(align_of::<Slab>() <= ALIGN && align_of::<Tag>() <= ALIGN);

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
/// `piece` must be what [`allocate`] returned, not a pointer made from a reference, for a type of the same size and
/// alignment; nobody uses it any more.
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
    let (size, align) = (layout.size(), layout.align());
    if !IS_ON || size == 0 || size > SIZE_MAX || align > ALIGN {
        None
    } else if size <= FINE_MAX {
        Some(size.saturating_sub(SIZE_MIN).div_ceil(STEP))
    } else {
        Some(FINE_CLASSES - 1 + (size - FINE_MAX).div_ceil(WIDE_STEP))
    }
}

const fn size_of_class(class: usize) -> usize {
    if class < FINE_CLASSES {
        SIZE_MIN + class * STEP
    } else {
        FINE_MAX + (class - (FINE_CLASSES - 1)) * WIDE_STEP
    }
}

/// What the slabs of a class are like.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// From one piece to the next.
    stride: usize,
    slots: usize,
}

impl Shape {
    #[inline]
    const fn of_class(class: usize) -> Shape {
        let stride = size_of_class(class) + size_of::<Tag>();
        let slots = match SLAB_BYTES / stride {
            0..SLOTS_MIN => SLOTS_MIN,
            slots @ SLOTS_MIN..SLOTS_MAX => slots,
            _ => SLOTS_MAX,
        };
        Shape { stride, slots }
    }

    /// The bits of all slots.
    const fn all_slots(self) -> u64 {
        (1 << self.slots) - 1
    }

    /// So many free slots make a slab worth having; fewer are left unused for the time being.
    const fn enough(self) -> u32 {
        self.slots as u32 / 4
    }

    const fn slab_layout(self) -> Layout {
        layout(FIRST_PIECE + self.slots * self.stride - size_of::<Tag>())
    }

    /// So many slabs are kept although they are all free.
    const fn kept_in_depot(self) -> usize {
        DEPOT_BYTES / self.slab_layout().size()
    }

    /// For a piece that is of no slab, with its tag.
    const fn standalone_layout(self) -> Layout {
        layout(ALIGN + self.stride - size_of::<Tag>())
    }

    /// # Safety
    /// `slab` must be one of this shape, and `slot` handed out to the caller.
    #[inline]
    unsafe fn piece(self, slab: NonNull<Slab>, slot: u32) -> NonNull<u8> {
        // SAFETY: there is a slot, and room for its tag in front of it.
        unsafe {
            let piece = slab.cast::<u8>().add(FIRST_PIECE + slot as usize * self.stride);
            tag(piece).write(slab.as_ptr());
            piece
        }
    }

    /// Which of the pieces of `slab` this is.
    #[inline]
    fn slot(self, slab: NonNull<Slab>, piece: NonNull<u8>) -> u32 {
        let behind_head = piece.addr().get() - slab.addr().get() - FIRST_PIECE;
        (behind_head / self.stride) as u32
    }
}

/// # Safety
/// There must be room for it in front of `piece`.
#[inline]
unsafe fn tag(piece: NonNull<u8>) -> NonNull<Tag> {
    // SAFETY: by contract.
    unsafe { piece.cast::<Tag>().sub(1) }
}

const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

fn allocate_layout(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0, "there is no memory for a type without size");
    // SAFETY: not of size zero.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// A piece that is of no slab.
#[cold]
fn allocate_standalone(shape: Shape) -> NonNull<u8> {
    let memory = allocate_layout(shape.standalone_layout());
    // SAFETY: there is room for the tag in front of the piece.
    unsafe {
        let piece = memory.add(ALIGN);
        tag(piece).write(ptr::null_mut());
        piece
    }
}

/// # Safety
/// `piece` must come from [`allocate_lone`] for the same shape, and nobody uses it any more.
#[cold]
unsafe fn free_standalone(piece: NonNull<u8>, shape: Shape) {
    // SAFETY: allocated with this layout.
    unsafe { dealloc(piece.sub(ALIGN).as_ptr(), shape.standalone_layout()) };
}

/// # Safety
/// The slab must be the caller's, of this shape, and none of its slots in use.
unsafe fn free_slab(slab: NonNull<Slab>, shape: Shape) {
    // SAFETY: allocated with this layout. There is nothing in a slab's head to be dropped.
    unsafe { dealloc(slab.as_ptr().cast(), shape.slab_layout()) };
}

#[inline]
fn allocate_class(class: usize) -> NonNull<u8> {
    // SAFETY: only this thread gets at its cache, and nothing in here comes back to it: no code but ours is
    // called, the allocator's neither (but where a `Mutex` is allocated when it is first locked, as on Apple's systems).
    let cached = with_cache(|cache| unsafe { (*cache)[class].take(Shape::of_class(class)) });
    cached.unwrap_or_else(|| allocate_slow(class))
}

/// There is nothing at hand.
#[cold]
fn allocate_slow(class: usize) -> NonNull<u8> {
    let shape = Shape::of_class(class);
    if !is_cache_usable() {
        return allocate_standalone(shape);
    }
    loop {
        // SAFETY: as above.
        let next =
            with_cache(|cache| unsafe { (*cache)[class].take_from_next(class, cache.cast()) });
        if let Some(piece) = next {
            return piece;
        }
        // The allocator may be somebody's who comes back to us in it.
        let slab = allocate_layout(shape.slab_layout()).cast::<Slab>();
        // SAFETY: there is room for a slab's head; the rest as above.
        with_cache(|cache| unsafe {
            slab.write(Slab::new(shape, cache.cast()));
            (*cache)[class].spares.push(slab);
        });
    }
}

/// # Safety
/// As of [`free`], for a piece of this class.
#[inline]
unsafe fn free_class(piece: NonNull<u8>, class: usize) {
    // SAFETY: each piece has a tag, which names the slab that it is of, if it is of one; that stays while the piece is
    // in use.
    unsafe {
        match NonNull::new(tag(piece).read()) {
            Some(slab) if slab.as_ref().is_owned_by(this_thread()) => {
                slab.as_ref().put(Shape::of_class(class).slot(slab, piece));
            }
            _ => free_slow(piece, class),
        }
    }
}

/// Gives back what is not of a slab of this thread's.
///
/// # Safety
/// As of [`free_class`].
#[inline(never)]
unsafe fn free_slow(piece: NonNull<u8>, class: usize) {
    let shape = Shape::of_class(class);
    // SAFETY: as above; a slab that has become ours is in no list.
    unsafe {
        let Some(slab) = NonNull::new(tag(piece).read()) else {
            return free_standalone(piece, shape);
        };
        match Slab::return_slot(slab, shape.slot(slab, piece), shape, this_thread()) {
            Returned::InUse => {}
            Returned::Ours => adopt(slab, class),
            Returned::AllFree => DEPOTS[class].take_all_free(shape).free_all(shape),
        }
    }
}

/// Sees to a slab that has become this thread's.
///
/// # Safety
/// It is, and in no list.
unsafe fn adopt(slab: NonNull<Slab>, class: usize) {
    let shape = Shape::of_class(class);
    let unwanted = if is_cache_usable() {
        // SAFETY: as in `allocate_class`; the slab is the caller's.
        with_cache(|cache| unsafe {
            let spares = &mut (*cache)[class].spares;
            spares.push(slab);
            DEPOTS[class]
                .put_all_but(SPARES_MAX, spares, shape)
                .unwrap_or_else(|| spares.take_all_free(SPARES_HARD_MAX, DEPOT_SCAN, shape))
        })
    } else {
        let mut last = Slabs::EMPTY;
        // SAFETY: the caller's.
        unsafe { last.push(slab) };
        DEPOTS[class].put_at_exit(last, shape)
    };
    // SAFETY: nobody uses them.
    unsafe { unwanted.free_all(shape) };
}

/// What a thread has of one class.
struct ClassCache {
    /// The slab it takes from; null if none.
    current: *mut Slab,
    /// Slabs with free slots.
    spares: Slabs,
}

impl ClassCache {
    const EMPTY: ClassCache = ClassCache { current: ptr::null_mut(), spares: Slabs::EMPTY };

    #[inline]
    fn take(&mut self, shape: Shape) -> Option<NonNull<u8>> {
        let current = NonNull::new(self.current)?;
        // SAFETY: the current slab is this thread's.
        unsafe { current.as_ref().take().map(|slot| shape.piece(current, slot)) }
    }

    /// As [`take`](Self::take), from another slab if the current one has no free slot.
    fn take_from_next(&mut self, class: usize, me: Owner) -> Option<NonNull<u8>> {
        let shape = Shape::of_class(class);
        loop {
            if let Some(piece) = self.take(shape) {
                return Some(piece);
            }
            if let Some(current) = NonNull::new(self.current) {
                // SAFETY: this thread's, and in no list. If it is let go of, it is not touched again.
                if !unsafe { Slab::release(current, shape, me) } {
                    continue;
                }
                self.current = ptr::null_mut();
            }
            let next = self.spares.pop().or_else(|| DEPOTS[class].take())?;
            // SAFETY: a spare is this thread's, and so is what came out of the depot.
            unsafe { next.as_ref().take_ownership(me) };
            self.current = next.as_ptr();
        }
    }

    /// Any of its slabs.
    fn pop_slab(&mut self) -> Option<NonNull<Slab>> {
        let current = replace(&mut self.current, ptr::null_mut());
        NonNull::new(current).or_else(|| self.spares.pop())
    }
}

/// Slabs of one class with enough free slots, for whichever thread needs one.
struct Depot {
    stock: Mutex<Slabs>,
    /// How many there are, for who only wants to know whether it is worth the lock.
    count: AtomicUsize,
}

static DEPOTS: [Depot; CLASSES] =
    [const { Depot { stock: Mutex::new(Slabs::EMPTY), count: AtomicUsize::new(0) } }; CLASSES];

impl Depot {
    /// Not worth waiting for, least of all in a process that was forked while somebody held it.
    fn lock(&self) -> Option<MutexGuard<'_, Slabs>> {
        self.stock.try_lock().ok()
    }

    /// A slab for the caller to make its own.
    fn take(&self) -> Option<NonNull<Slab>> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let mut stock = self.lock()?;
        let slab = stock.pop();
        self.count.store(stock.count(), Relaxed);
        slab
    }

    /// Takes all of `slabs` but so many, the first first. Returns those that nobody needs, to be freed; none if somebody is
    /// at it.
    fn put_all_but(&self, keep: usize, slabs: &mut Slabs, shape: Shape) -> Option<Slabs> {
        let mut unwanted = Slabs::EMPTY;
        if slabs.count() > keep {
            let mut stock = self.lock()?;
            while let Some(slab) = slabs.pop_beyond(keep) {
                // SAFETY: the caller's, who passes it on.
                unsafe {
                    slab.as_ref().disown();
                    stock.push(slab);
                }
                unwanted.append(stock.take_all_free(shape.kept_in_depot(), DEPOT_SCAN, shape));
            }
            self.count.store(stock.count(), Relaxed);
        }
        Some(unwanted)
    }

    /// Takes them all, and tries for a while if it must. What it does not get at is lost.
    fn put_at_exit(&self, mut slabs: Slabs, shape: Shape) -> Slabs {
        for _ in 0..EXIT_TRIES {
            if let Some(unwanted) = self.put_all_but(0, &mut slabs, shape) {
                return unwanted;
            }
            thread::yield_now();
        }
        while let Some(lost) = slabs.pop() {
            // SAFETY: the caller's, who may end, and another thread begin at the same address.
            unsafe { lost.as_ref().disown() };
        }
        Slabs::EMPTY
    }

    /// Some slab has become all free in here: returns what is found of those that nobody needs, to be freed.
    fn take_all_free(&self, shape: Shape) -> Slabs {
        if self.count.load(Relaxed) <= shape.kept_in_depot() {
            return Slabs::EMPTY;
        }
        let Some(mut stock) = self.lock() else { return Slabs::EMPTY };
        let unwanted = stock.take_all_free(shape.kept_in_depot(), DEPOT_SCAN, shape);
        self.count.store(stock.count(), Relaxed);
        unwanted
    }
}

/// What a thread has, of all classes.
type Cache = [ClassCache; CLASSES];

/// Without a destructor, which would have to be looked after at each use: that is the [`Keeper`]'s.
#[inline]
fn with_cache<R>(f: impl FnOnce(*mut Cache) -> R) -> R {
    thread_local! {
        static CACHE: UnsafeCell<Cache> = const { UnsafeCell::new([const { ClassCache::EMPTY }; CLASSES]) };
    }
    CACHE.with(|cache| f(cache.get()))
}

/// Who this thread is, for slabs.
#[inline]
fn this_thread() -> Owner {
    with_cache(|cache| cache.cast())
}

/// Whether slabs can be put into this thread's cache. Not at its end, when nobody would take them out again.
fn is_cache_usable() -> bool {
    thread_local! {
        static CLEANUP: CacheCleanup = const { CacheCleanup };
    }
    CLEANUP.try_with(|_| ()).is_ok()
}

/// Leaves to others what is in the cache, when the thread ends.
struct CacheCleanup;

impl Drop for CacheCleanup {
    fn drop(&mut self) {
        for (class, depot) in DEPOTS.iter().enumerate() {
            let shape = Shape::of_class(class);
            // SAFETY: as in `allocate_class`.
            let mut cached =
                with_cache(|cache| unsafe { replace(&mut (*cache)[class], ClassCache::EMPTY) });
            let mut for_others = Slabs::EMPTY;
            while let Some(slab) = cached.pop_slab() {
                // SAFETY: this thread's. Those that are let go of are not touched again.
                unsafe {
                    if !Slab::release(slab, shape, this_thread()) {
                        for_others.push(slab);
                    }
                }
            }
            // SAFETY: nobody uses what is returned.
            unsafe { depot.put_at_exit(for_others, shape).free_all(shape) };
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
