use std::fmt;
use std::mem::MaybeUninit;

use bytes::BufMut;
use bytes::buf::UninitSlice;

/// A buffer that is filled step by step and tracks how much of its memory is initialized.
///
/// ```text
/// ┌──────────────────── capacity ────────────────────┐
/// │     filled     │            unfilled             │
/// │         initialized          │   uninitialized   │
/// └──────────────────────────────┴───────────────────┘
/// ```
///
/// A reader appends to the filled part and need not zero memory first:
/// [`put_slice`](Self::put_slice) copies into uninitialized memory, and
/// [`initialize_unfilled`](Self::initialize_unfilled) zeroes only bytes that have never been
/// initialized.
///
/// Initialized bytes must stay initialized. This includes the part shown as uninitialized above:
/// its bytes may be initialized without this buffer knowing it.
///
/// ```
/// use std::mem::MaybeUninit;
/// use wakeful::io::ReadBuf;
///
/// let mut memory = [MaybeUninit::uninit(); 8];
/// let mut buf = ReadBuf::uninit(&mut memory);
/// buf.put_slice(b"abc");
/// assert_eq!(buf.filled(), b"abc");
/// assert_eq!(buf.remaining(), 5);
/// ```
pub struct ReadBuf<'a> {
    // Invariant: filled <= initialized <= buf.len(), and buf[..initialized] is initialized.
    buf: &'a mut [MaybeUninit<u8>],
    filled: usize,
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// Creates a buffer of initialized bytes, none of which is filled.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        // SAFETY: `u8` and `MaybeUninit<u8>` have the same layout. The bytes must stay initialized,
        // since the caller sees them as `u8` again: safe methods of this type never write
        // uninitialized bytes, and its unsafe methods require the same of their callers.
        let buf = unsafe { &mut *(buf as *mut [u8] as *mut [MaybeUninit<u8>]) };
        ReadBuf { buf, filled: 0, initialized }
    }

    /// Creates a buffer whose memory is not known to be initialized.
    ///
    /// If a part of it is initialized, call [`assume_init`](Self::assume_init).
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf { buf, filled: 0, initialized: 0 }
    }

    /// Returns how many bytes the buffer can hold.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// Returns the length of the unfilled part.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.capacity() - self.filled
    }

    /// Returns the filled part.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes are initialized, since `filled <= initialized`.
        unsafe { assume_init_ref(&self.buf[..self.filled]) }
    }

    /// Returns the filled part, mutably.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: the first `filled` bytes are initialized, since `filled <= initialized`.
        unsafe { assume_init_mut(&mut self.buf[..self.filled]) }
    }

    /// Returns the initialized part, which starts with the filled part.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: `buf[..initialized]` is initialized, by the invariant of the field `buf`.
        unsafe { assume_init_ref(&self.buf[..self.initialized]) }
    }

    /// Returns the initialized part, which starts with the filled part, mutably.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: `buf[..initialized]` is initialized, by the invariant of the field `buf`.
        unsafe { assume_init_mut(&mut self.buf[..self.initialized]) }
    }

    /// Returns a buffer over the first `n` bytes of the unfilled part, or over all of it if
    /// shorter.
    ///
    /// The returned buffer counts as uninitialized. After filling it, call
    /// [`assume_init`](Self::assume_init) and [`advance`](Self::advance) on this buffer.
    ///
    /// ```
    /// use wakeful::io::ReadBuf;
    ///
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// let mut window = buf.take(3); // limits a reader to three bytes
    /// window.put_slice(b"abc");
    /// let n = window.filled().len();
    /// // SAFETY: the first `n` unfilled bytes have just been written.
    /// unsafe { buf.assume_init(n) };
    /// buf.advance(n);
    /// assert_eq!(buf.filled(), b"abc");
    /// ```
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let n = n.min(self.remaining());
        // SAFETY: `unfilled_mut` requires that no byte becomes uninitialized. The slice is
        // reachable only through the returned `ReadBuf`, whose methods guarantee that.
        ReadBuf::uninit(unsafe { &mut self.unfilled_mut()[..n] })
    }

    /// Returns the whole buffer, including the uninitialized part.
    ///
    /// # Safety
    ///
    /// The caller must not de-initialize any byte.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// Returns the unfilled part, including its uninitialized bytes.
    ///
    /// # Safety
    ///
    /// The caller must not de-initialize any byte.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// use wakeful::io::ReadBuf;
    ///
    /// let mut memory = [MaybeUninit::uninit(); 4];
    /// let mut buf = ReadBuf::uninit(&mut memory);
    /// // SAFETY: only initialized bytes are written, and the first two are written before
    /// // `assume_init(2)`.
    /// unsafe {
    ///     buf.unfilled_mut()[0].write(1);
    ///     buf.unfilled_mut()[1].write(2);
    ///     buf.assume_init(2);
    /// }
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), [1, 2]);
    /// ```
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// Returns the unfilled part, after zeroing its uninitialized bytes.
    ///
    /// Bytes that are initialized already are not zeroed again.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// Returns the first `n` bytes of the unfilled part, after zeroing the uninitialized ones.
    ///
    /// # Panics
    ///
    /// Panics if `n` exceeds [`remaining`](Self::remaining).
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(
            n <= self.remaining(),
            "n overflows remaining: n = {n}, remaining() = {}",
            self.remaining()
        );
        let end = self.filled + n;
        if self.initialized < end {
            self.buf[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        // SAFETY: `initialized >= end` here: if it was not, the bytes up to `end` have just been
        // zeroed.
        unsafe { assume_init_mut(&mut self.buf[self.filled..end]) }
    }

    /// Empties the filled part. The bytes keep their values and stay initialized.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Extends the filled part by `n` bytes, which must be initialized.
    ///
    /// # Panics
    ///
    /// Panics if the filled part would become longer than the initialized part.
    ///
    /// ```
    /// use wakeful::io::ReadBuf;
    ///
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// // Like a read into a plain slice, which then returns how many bytes it read.
    /// buf.initialize_unfilled()[..3].copy_from_slice(b"abc");
    /// buf.advance(3);
    /// assert_eq!((buf.filled(), buf.remaining()), (&b"abc"[..], 5));
    /// ```
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self.filled.checked_add(n).expect("filled overflow");
        self.set_filled(filled);
    }

    /// Sets the length of the filled part, which may become shorter.
    ///
    /// # Panics
    ///
    /// Panics if the filled part would become longer than the initialized part.
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.initialized,
            "filled must not become larger than initialized: filled = {n}, initialized = {}",
            self.initialized
        );
        self.filled = n;
    }

    /// Marks the first `n` bytes of the unfilled part as initialized.
    ///
    /// The initialized part never shrinks by this call.
    ///
    /// # Safety
    ///
    /// The unfilled part must have at least `n` bytes, and its first `n` bytes must be initialized.
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        debug_assert!(n <= self.remaining(), "n must not exceed remaining()");
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Appends `buf` to the filled part.
    ///
    /// # Panics
    ///
    /// Panics if `buf` is longer than [`remaining`](Self::remaining).
    #[inline]
    #[track_caller]
    pub fn put_slice(&mut self, buf: &[u8]) {
        assert!(
            self.remaining() >= buf.len(),
            "buf.len() must fit in remaining(); buf.len() = {}, remaining() = {}",
            buf.len(),
            self.remaining()
        );
        let end = self.filled + buf.len();
        let room = &mut self.buf[self.filled..end];
        // SAFETY: `room` and `buf` have the same length, and do not overlap because `room` is
        // borrowed exclusively. Writing initialized bytes never de-initializes `self.buf`.
        unsafe { room.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(buf.as_ptr(), buf.len()) };
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

// SAFETY: `BufMut` requires that its methods agree: `chunk_mut` returns the unfilled part,
// `remaining_mut` its length, and `advance_mut` moves its start by `cnt`.
unsafe impl BufMut for ReadBuf<'_> {
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    unsafe fn advance_mut(&mut self, cnt: usize) {
        // SAFETY: `advance_mut` requires that the caller has initialized the next `cnt` bytes.
        unsafe { self.assume_init(cnt) };
        self.advance(cnt);
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        // SAFETY: the safe methods of `UninitSlice` write initialized bytes only, and its unsafe
        // ones forbid callers to de-initialize any byte.
        UninitSlice::uninit(unsafe { self.unfilled_mut() })
    }
}

impl fmt::Debug for ReadBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBuf")
            .field("filled", &self.filled)
            .field("initialized", &self.initialized)
            .field("capacity", &self.capacity())
            .finish()
    }
}

/// Converts a shared slice of initialized bytes.
///
/// # Safety
///
/// All of `bytes` must be initialized.
unsafe fn assume_init_ref(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: `MaybeUninit<u8>` and `u8` have the same layout, and the caller guarantees that all
    // of `bytes` is initialized.
    unsafe { &*(bytes as *const [MaybeUninit<u8>] as *const [u8]) }
}

/// Converts a mutable slice of initialized bytes.
///
/// # Safety
///
/// All of `bytes` must be initialized.
unsafe fn assume_init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: `MaybeUninit<u8>` and `u8` have the same layout, and the caller guarantees that all
    // of `bytes` is initialized.
    unsafe { &mut *(bytes as *mut [MaybeUninit<u8>] as *mut [u8]) }
}
