//! A slab allocator for small, short-lived objects: tasks, timers, channel blocks.
//!
//! A task is often created on one thread and freed on another. For that pattern many allocators,
//! including glibc's, take the same lock in both calls. Here memory is requested from the global
//! allocator in **slabs** of some dozens of pieces of one size, and a slab is returned only when
//! all its pieces are free. A thread allocates from a slab that it owns. To free a piece of another
//! thread's slab it executes one atomic operation. A slab that no thread owns gets a new owner: the
//! thread that returns enough of its pieces. A thread that frees more than it allocates passes
//! slabs on through a **depot**; a thread that allocates more takes them from there.
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
//! A slab hands out its pieces in address order. Tasks that are spawned one after another, and move
//! to another worker together, therefore hardly share a cache line with tasks that stay, however
//! long the program has been running; see bench/NOTES.md: slab order.
//!
//! The free memory that is retained is bounded: each thread keeps `SPARES_MAX` slabs and the
//! current one for each size class that it uses, and each size class keeps `DEPOT_BYTES` in its
//! depot. When the last piece of a slab in a depot is returned, a few slabs of that depot are
//! scanned for all-free ones. A thread that exits passes its slabs on.
//!
//! To read on: `slab.rs` has a slab and the protocol by which it changes its owner; `slabs.rs` has
//! lists of slabs. This file has the size classes, the threads' caches and the depots.

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

/// The alignment of every piece.
const ALIGN: usize = 16;

/// The distance from one size class to the next, up to `FINE_MAX` and beyond it.
const STEP: usize = ALIGN;
const WIDE_STEP: usize = 4 * ALIGN;

/// The smallest size class, the last one in small steps, and the largest one. Most tasks are
/// smaller than `FINE_MAX`. Including its tag, a piece takes up a multiple of `ALIGN`.
const SIZE_MIN: usize = 2 * ALIGN - size_of::<Tag>();
const FINE_MAX: usize = SIZE_MIN + (FINE_CLASSES - 1) * STEP;
const SIZE_MAX: usize = 4 * 1024;

const FINE_CLASSES: usize = 32;
const CLASSES: usize = FINE_CLASSES + (SIZE_MAX - FINE_MAX).div_ceil(WIDE_STEP);

/// Bounds the memory of a slab, unless it would then have fewer than `SLOTS_MIN` pieces.
const SLAB_BYTES: usize = 8 * 1024;

const SLOTS_MIN: usize = 8;

/// The number of slabs of a class that a thread keeps in addition to its current one.
const SPARES_MAX: usize = 2;

/// Bounds the spares of a thread that cannot lock the depot. Beyond it, the thread frees all-free
/// slabs itself.
const SPARES_HARD_MAX: usize = 8;

/// The size up to which the depot of a class retains all-free slabs. Beyond it, they go back to the
/// global allocator.
const DEPOT_BYTES: usize = 128 * 1024;

/// How many slabs of a depot are scanned for all-free ones, whenever a slab is added to the depot
/// or becomes all-free in it.
const DEPOT_SCAN: usize = 4;

/// How often an exiting thread tries to lock the depot. The attempts are bounded because a forked
/// child may have inherited a lock that is held for good.
const EXIT_TRIES: usize = 10_000;

/// Whether slabs are used at all. Miri, loom and AddressSanitizer (in a build with `--cfg
/// wakeful_no_slab`) need to see every allocation. The tests of this module always use slabs, under
/// Miri too.
const IS_ON: bool = !cfg!(wakeful_loom) && (cfg!(test) || !cfg!(any(miri, wakeful_no_slab)));

/// The word in front of each piece: the slab that it belongs to, or null for a standalone piece.
type Tag = *mut Slab;

/// The offset of a slab's first piece.
const FIRST_PIECE: usize = (size_of::<Slab>() + size_of::<Tag>()).next_multiple_of(ALIGN);

const _: () = assert!(align_of::<Slab>() <= ALIGN && align_of::<Tag>() <= ALIGN);

/// Allocates memory for a `T`.
///
/// # Panics
/// Panics if `T` is zero-sized.
#[inline]
pub fn allocate<T>() -> NonNull<T> {
    match const { class_of(Layout::new::<T>()) } {
        Some(class) => allocate_class(class).cast(),
        None => allocate_layout(Layout::new::<T>()).cast(),
    }
}

/// Frees memory that [`allocate`] returned.
///
/// # Safety
/// `piece` must be the pointer that [`allocate`] returned (not one derived from a reference), for a
/// type of the same size and alignment, and must not be used any more.
#[inline]
pub unsafe fn free<T>(piece: NonNull<T>) {
    match const { class_of(Layout::new::<T>()) } {
        // SAFETY: by contract, `piece` was allocated for a layout of this class and is the caller's
        // to free.
        Some(class) => unsafe { free_class(piece.cast(), class) },
        // SAFETY: `allocate` used the same layout, since it has no class.
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

/// The layout of the slabs of a class.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The distance from one piece to the next.
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

    /// Returns a mask with the bit of every slot set.
    const fn all_slots(self) -> u64 {
        (1 << self.slots) - 1
    }

    /// Returns the number of free slots from which a slab is worth owning: a quarter of all slots.
    /// A slab with fewer has no owner until more slots are returned.
    const fn enough(self) -> u32 {
        self.slots as u32 / 4
    }

    const fn slab_layout(self) -> Layout {
        layout(FIRST_PIECE + self.slots * self.stride - size_of::<Tag>())
    }

    /// Returns the number of slabs in a depot up to which it retains all-free ones.
    const fn kept_in_depot(self) -> usize {
        DEPOT_BYTES / self.slab_layout().size()
    }

    /// Returns the layout of a piece that belongs to no slab, with its tag.
    const fn standalone_layout(self) -> Layout {
        layout(ALIGN + self.stride - size_of::<Tag>())
    }

    /// Returns the piece of a slot and writes its tag.
    ///
    /// # Safety
    /// `slab` must have this shape, and `slot` must have been handed out to the caller.
    #[inline]
    unsafe fn piece(self, slab: NonNull<Slab>, slot: u32) -> NonNull<u8> {
        // SAFETY: a slab of this shape has memory for this slot and for the tag in front of it, and
        // the slot is the caller's alone.
        unsafe {
            let piece = slab.cast::<u8>().add(FIRST_PIECE + slot as usize * self.stride);
            tag(piece).write(slab.as_ptr());
            piece
        }
    }

    /// Returns the slot of a piece of `slab`.
    #[inline]
    fn slot(self, slab: NonNull<Slab>, piece: NonNull<u8>) -> u32 {
        let behind_head = piece.addr().get() - slab.addr().get() - FIRST_PIECE;
        (behind_head / self.stride) as u32
    }
}

/// Returns the place of a piece's tag.
///
/// # Safety
/// `piece` must have room for a tag in front of it.
#[inline]
unsafe fn tag(piece: NonNull<u8>) -> NonNull<Tag> {
    // SAFETY: by contract the result is inside the same allocation.
    unsafe { piece.cast::<Tag>().sub(1) }
}

const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

fn allocate_layout(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0, "cannot allocate memory for a zero-sized type");
    // SAFETY: the size is not zero.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Allocates a piece that belongs to no slab.
#[cold]
fn allocate_standalone(shape: Shape) -> NonNull<u8> {
    let memory = allocate_layout(shape.standalone_layout());
    // SAFETY: the allocation has `ALIGN` bytes in front of the piece, which is room for the tag.
    unsafe {
        let piece = memory.add(ALIGN);
        tag(piece).write(ptr::null_mut());
        piece
    }
}

/// Frees a standalone piece.
///
/// # Safety
/// `piece` must come from [`allocate_standalone`] for the same shape and must not be used any more.
#[cold]
unsafe fn free_standalone(piece: NonNull<u8>, shape: Shape) {
    // SAFETY: `allocate_standalone` used the same layout, and the piece is `ALIGN` bytes into it.
    unsafe { dealloc(piece.sub(ALIGN).as_ptr(), shape.standalone_layout()) };
}

/// Returns a slab to the global allocator.
///
/// # Safety
/// The caller must own the slab, which must have this shape and no slot in use.
unsafe fn free_slab(slab: NonNull<Slab>, shape: Shape) {
    // SAFETY: allocated with the same layout. The head of a slab needs no drop.
    unsafe { dealloc(slab.as_ptr().cast(), shape.slab_layout()) };
}

#[inline]
fn allocate_class(class: usize) -> NonNull<u8> {
    // SAFETY: `with_cache` returns the cache of this thread, so only code that this closure calls
    // could access it meanwhile. The closure calls no user code and not the global allocator, so
    // nothing re-enters. (Exception: where std's `Mutex` allocates at its first lock, as on Apple's
    // systems.)
    let cached = with_cache(|cache| unsafe { (*cache)[class].take(Shape::of_class(class)) });
    cached.unwrap_or_else(|| allocate_slow(class))
}

/// Allocates from another slab or a new one, when the current slab has no free slot.
#[cold]
fn allocate_slow(class: usize) -> NonNull<u8> {
    let shape = Shape::of_class(class);
    if !is_cache_usable() {
        return allocate_standalone(shape);
    }
    loop {
        // SAFETY: as in `allocate_class`.
        let next =
            with_cache(|cache| unsafe { (*cache)[class].take_from_next(class, cache.cast()) });
        if let Some(piece) = next {
            return piece;
        }
        // Outside `with_cache`, since a user's global allocator may re-enter this module.
        let slab = allocate_layout(shape.slab_layout()).cast::<Slab>();
        // SAFETY: the memory has the size of a slab and is ours; the cache as in `allocate_class`.
        with_cache(|cache| unsafe {
            slab.write(Slab::new(shape, cache.cast()));
            (*cache)[class].spares.push(slab);
        });
    }
}

/// # Safety
/// As for [`free`], for a piece of this class.
#[inline]
unsafe fn free_class(piece: NonNull<u8>, class: usize) {
    // SAFETY: every piece of a class has a tag. It names the piece's slab, which stays allocated
    // while the piece is in use. A slab that this thread owns takes its slots back through `put`.
    unsafe {
        match NonNull::new(tag(piece).read()) {
            Some(slab) if slab.as_ref().is_owned_by(this_thread()) => {
                slab.as_ref().put(Shape::of_class(class).slot(slab, piece));
            }
            _ => free_slow(piece, class),
        }
    }
}

/// Frees a piece that does not belong to a slab of this thread.
///
/// # Safety
/// As for [`free_class`].
#[inline(never)]
unsafe fn free_slow(piece: NonNull<u8>, class: usize) {
    let shape = Shape::of_class(class);
    // SAFETY: as in `free_class`. A slab that `return_slot` made ours is in no list, since only an
    // owner puts slabs into lists. `take_all_free` returns slabs without a slot in use.
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

/// Adds a slab that this thread has just become the owner of to its spares, and passes surplus
/// slabs on.
///
/// # Safety
/// The calling thread must own the slab, which must be in no list.
unsafe fn adopt(slab: NonNull<Slab>, class: usize) {
    let shape = Shape::of_class(class);
    let unwanted = if is_cache_usable() {
        // SAFETY: the cache as in `allocate_class`. The slab is this thread's and in no list, by
        // contract.
        with_cache(|cache| unsafe {
            let spares = &mut (*cache)[class].spares;
            spares.push(slab);
            DEPOTS[class]
                .put_all_but(SPARES_MAX, spares, shape)
                .unwrap_or_else(|| spares.take_all_free(SPARES_HARD_MAX, DEPOT_SCAN, shape))
        })
    } else {
        let mut last = Slabs::EMPTY;
        // SAFETY: by contract.
        unsafe { last.push(slab) };
        DEPOTS[class].put_at_exit(last, shape)
    };
    // SAFETY: no slot of these slabs is in use.
    unsafe { unwanted.free_all(shape) };
}

/// A thread's slabs of one class.
struct ClassCache {
    /// The slab that the thread allocates from, or null.
    current: *mut Slab,
    /// More slabs with free slots.
    spares: Slabs,
}

impl ClassCache {
    const EMPTY: ClassCache = ClassCache { current: ptr::null_mut(), spares: Slabs::EMPTY };

    #[inline]
    fn take(&mut self, shape: Shape) -> Option<NonNull<u8>> {
        let current = NonNull::new(self.current)?;
        // SAFETY: this thread owns its current slab, and `slot` has just been handed out.
        unsafe { current.as_ref().take().map(|slot| shape.piece(current, slot)) }
    }

    /// Does the same as [`take`](Self::take), but continues with another slab if the current one
    /// has no free slot.
    fn take_from_next(&mut self, class: usize, me: Owner) -> Option<NonNull<u8>> {
        let shape = Shape::of_class(class);
        loop {
            if let Some(piece) = self.take(shape) {
                return Some(piece);
            }
            if let Some(current) = NonNull::new(self.current) {
                // SAFETY: this thread owns the current slab, which is in no list. If it is released
                // it is not touched again.
                if !unsafe { Slab::release(current, shape, me) } {
                    continue;
                }
                self.current = ptr::null_mut();
            }
            let next = self.spares.pop().or_else(|| DEPOTS[class].take())?;
            // SAFETY: this thread owns its spares. A slab from the depot was taken out under the
            // lock, so no other thread can take it.
            unsafe { next.as_ref().take_ownership(me) };
            self.current = next.as_ptr();
        }
    }

    /// Removes and returns one of the thread's slabs.
    fn pop_slab(&mut self) -> Option<NonNull<Slab>> {
        let current = replace(&mut self.current, ptr::null_mut());
        NonNull::new(current).or_else(|| self.spares.pop())
    }
}

/// Slabs of one class with enough free slots, for any thread that needs one.
struct Depot {
    stock: Mutex<Slabs>,
    /// The number of slabs, for threads that only check whether locking is worthwhile.
    count: AtomicUsize,
}

static DEPOTS: [Depot; CLASSES] =
    [const { Depot { stock: Mutex::new(Slabs::EMPTY), count: AtomicUsize::new(0) } }; CLASSES];

impl Depot {
    /// Locks the depot, or returns `None` if it is locked. The slabs are not worth waiting for, and
    /// in a child process that was forked while another thread held the lock, waiting would never
    /// end.
    fn lock(&self) -> Option<MutexGuard<'_, Slabs>> {
        self.stock.try_lock().ok()
    }

    /// Removes and returns a slab, which the caller must take ownership of.
    fn take(&self) -> Option<NonNull<Slab>> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let mut stock = self.lock()?;
        let slab = stock.pop();
        self.count.store(stock.count(), Relaxed);
        slab
    }

    /// Moves the slabs beyond the first `keep` from `slabs` to the depot. Returns surplus all-free
    /// slabs, to be freed, or `None` if the depot is locked.
    fn put_all_but(&self, keep: usize, slabs: &mut Slabs, shape: Shape) -> Option<Slabs> {
        let mut unwanted = Slabs::EMPTY;
        if slabs.count() > keep {
            let mut stock = self.lock()?;
            while let Some(slab) = slabs.pop_beyond(keep) {
                // SAFETY: the caller owns the slabs of its list, and passes them on to the holder
                // of the depot's lock.
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

    /// Moves all slabs to the depot, retrying for a while if it is locked. If it stays locked the
    /// slabs are leaked.
    fn put_at_exit(&self, mut slabs: Slabs, shape: Shape) -> Slabs {
        for _ in 0..EXIT_TRIES {
            if let Some(unwanted) = self.put_all_but(0, &mut slabs, shape) {
                return unwanted;
            }
            thread::yield_now();
        }
        while let Some(lost) = slabs.pop() {
            // SAFETY: the calling thread owns the slab. It must not stay the recorded owner, since
            // a thread is known by the address of its thread-local cache, which a later thread may
            // reuse.
            unsafe { lost.as_ref().disown() };
        }
        Slabs::EMPTY
    }

    /// Scans some slabs, and returns surplus all-free ones, to be freed. Called when a slab of the
    /// depot has become all-free.
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

/// A thread's slabs of all classes.
type Cache = [ClassCache; CLASSES];

/// Calls `f` with this thread's cache.
///
/// The cache itself has no destructor, because that would add a check to each access. The
/// destructor of [`CacheCleanup`] empties it.
#[inline]
fn with_cache<R>(f: impl FnOnce(*mut Cache) -> R) -> R {
    thread_local! {
        static CACHE: UnsafeCell<Cache> = const { UnsafeCell::new([const { ClassCache::EMPTY }; CLASSES]) };
    }
    CACHE.with(|cache| f(cache.get()))
}

/// Returns the identity of this thread as an owner of slabs.
#[inline]
fn this_thread() -> Owner {
    with_cache(|cache| cache.cast())
}

/// Returns whether slabs may be put into this thread's cache: not once the thread has emptied it at
/// its exit, since nothing would empty it again.
fn is_cache_usable() -> bool {
    thread_local! {
        static CLEANUP: CacheCleanup = const { CacheCleanup };
    }
    CLEANUP.try_with(|_| ()).is_ok()
}

/// Passes the cached slabs on to other threads when its thread exits.
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
                // SAFETY: the slab comes out of this thread's cache, so this thread owns it and it
                // is in no list. A released slab is not touched again.
                unsafe {
                    if !Slab::release(slab, shape, this_thread()) {
                        for_others.push(slab);
                    }
                }
            }
            // SAFETY: no slot of the returned slabs is in use.
            unsafe { depot.put_at_exit(for_others, shape).free_all(shape) };
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
