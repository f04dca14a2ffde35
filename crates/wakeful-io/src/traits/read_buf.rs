use std::fmt;
use std::mem::MaybeUninit;

use bytes::BufMut;
use bytes::buf::UninitSlice;

/// A buffer on its way to being filled, which remembers how much of it was ever initialized.
///
/// ```text
/// ┌──────────────────── capacity ────────────────────┐
/// │     filled     │            unfilled             │
/// │         initialized          │   uninitialized   │
/// └──────────────────────────────┴───────────────────┘
/// ```
///
/// A reader adds to the filled part, and need not clear memory for that:
/// [`put_slice`](Self::put_slice) copies into it as it is,
/// [`initialize_unfilled`](Self::initialize_unfilled) zeroes only what nobody has initialized
/// before.
///
/// Bytes once initialized must stay so. That goes for the uninitialized part too, of which we only
/// do not know.
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
    /// A buffer of initialized bytes, none of them filled.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        // SAFETY: same layout. All of it counts as initialized here, and nothing in this type takes
        // that back; its unsafe methods make their callers promise the same.
        let buf = unsafe { &mut *(buf as *mut [u8] as *mut [MaybeUninit<u8>]) };
        ReadBuf { buf, filled: 0, initialized }
    }

    /// A buffer of which nothing is known to be initialized.
    ///
    /// If some of it is, say so with [`assume_init`](Self::assume_init).
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf { buf, filled: 0, initialized: 0 }
    }

    /// How many bytes the buffer holds when full.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// How many more bytes fit.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.capacity() - self.filled
    }

    /// The filled part.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: the filled part is initialized, by the invariant.
        unsafe { assume_init_ref(&self.buf[..self.filled]) }
    }

    /// The filled part, to be changed.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: the filled part is initialized, by the invariant.
        unsafe { assume_init_mut(&mut self.buf[..self.filled]) }
    }

    /// The initialized part, which begins with the filled one.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: the invariant.
        unsafe { assume_init_ref(&self.buf[..self.initialized]) }
    }

    /// The initialized part, which begins with the filled one, to be changed.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: the invariant.
        unsafe { assume_init_mut(&mut self.buf[..self.initialized]) }
    }

    /// A buffer over the first `n` bytes of the unfilled part, or all of it if it is shorter.
    ///
    /// The new one counts as uninitialized. Once something was put there, tell this one with
    /// [`assume_init`](Self::assume_init) and [`advance`](Self::advance).
    ///
    /// ```
    /// use wakeful::io::ReadBuf;
    ///
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// let mut window = buf.take(3); // for a reader that is to fill no more
    /// window.put_slice(b"abc");
    /// let n = window.filled().len();
    /// // SAFETY: so many bytes were just put there.
    /// unsafe { buf.assume_init(n) };
    /// buf.advance(n);
    /// assert_eq!(buf.filled(), b"abc");
    /// ```
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let n = n.min(self.remaining());
        // SAFETY: a `ReadBuf` never undoes an initialization.
        ReadBuf::uninit(unsafe { &mut self.unfilled_mut()[..n] })
    }

    /// The whole buffer, initialized or not.
    ///
    /// # Safety
    ///
    /// The caller must not undo the initialization of any byte.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// The unfilled part, initialized or not.
    ///
    /// # Safety
    ///
    /// The caller must not undo the initialization of any byte.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// use wakeful::io::ReadBuf;
    ///
    /// let mut memory = [MaybeUninit::uninit(); 4];
    /// let mut buf = ReadBuf::uninit(&mut memory);
    /// // SAFETY: only puts bytes there; the first two are initialized then.
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

    /// The unfilled part; what was uninitialized of it is zeroed first.
    ///
    /// That costs nothing if the same memory has been through here before.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// The first `n` bytes of the unfilled part; what was uninitialized of them is zeroed first.
    ///
    /// # Panics
    ///
    /// If fewer than `n` bytes [remain](Self::remaining).
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
        // SAFETY: up to `end` all was initialized before or has been zeroed just now.
        unsafe { assume_init_mut(&mut self.buf[self.filled..end]) }
    }

    /// Makes the filled part empty. Its bytes stay as they are, and initialized.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Adds the next `n` bytes, which must be initialized, to the filled part.
    ///
    /// # Panics
    ///
    /// If the filled part would become longer than the initialized one.
    ///
    /// ```
    /// use wakeful::io::ReadBuf;
    ///
    /// let mut memory = [0; 8];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// // As a read into a plain slice would, which then says how much it was.
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

    /// Sets how long the filled part is. It may become shorter by that.
    ///
    /// # Panics
    ///
    /// If the filled part would become longer than the initialized one.
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

    /// Says that the first `n` bytes of the unfilled part are initialized.
    ///
    /// The initialized part never shrinks by that.
    ///
    /// # Safety
    ///
    /// They must be, and there must be as many.
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        debug_assert!(n <= self.remaining(), "assume_init of more bytes than the buffer has");
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Copies `buf` to the end of the filled part.
    ///
    /// # Panics
    ///
    /// If it does not fit.
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
        // SAFETY: `room` is as long as `buf`, and borrowed exclusively, hence apart from it.
        unsafe { room.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(buf.as_ptr(), buf.len()) };
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

// SAFETY: `chunk_mut` shows the unfilled part, `remaining_mut` is its length, and `advance_mut`
// moves its start.
unsafe impl BufMut for ReadBuf<'_> {
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    unsafe fn advance_mut(&mut self, cnt: usize) {
        // SAFETY: the caller promises that the next `cnt` bytes are initialized.
        unsafe { self.assume_init(cnt) };
        self.advance(cnt);
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        // SAFETY: an `UninitSlice` only lets itself be written with initialized bytes.
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

/// # Safety
///
/// All of `bytes` must be initialized.
unsafe fn assume_init_ref(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: same layout, and initialized as the caller promises.
    unsafe { &*(bytes as *const [MaybeUninit<u8>] as *const [u8]) }
}

/// # Safety
///
/// All of `bytes` must be initialized.
unsafe fn assume_init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: same layout, and initialized as the caller promises.
    unsafe { &mut *(bytes as *mut [MaybeUninit<u8>] as *mut [u8]) }
}
