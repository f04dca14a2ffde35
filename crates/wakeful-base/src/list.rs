//! An intrusive doubly linked list.
//!
//! The links are part of the nodes, so neither insertion nor removal allocates. The list does not
//! own its nodes: code that adds a node promises that it stays in place until it has been removed.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

/// Tells where a node keeps its links.
///
/// # Safety
/// [`links`](Self::links) must always return the same address for the same node, inside the node's
/// own memory. Only the list may write there while the node is in a list.
pub unsafe trait Link {
    /// The type of the nodes.
    type Node;

    /// Returns the links of `node`.
    ///
    /// # Safety
    /// `node` must point to a live node.
    unsafe fn links(node: NonNull<Self::Node>) -> NonNull<Links<Self::Node>>;
}

/// The neighbours of a node.
pub struct Links<N> {
    prev: Cell<Option<NonNull<N>>>,
    next: Cell<Option<NonNull<N>>>,
}

impl<N> Links<N> {
    /// Creates the links of a node that is in no list.
    pub const fn new() -> Self {
        Links { prev: Cell::new(None), next: Cell::new(None) }
    }
}

impl<N> Default for Links<N> {
    fn default() -> Self {
        Links::new()
    }
}

impl<N> fmt::Debug for Links<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}

/// A list of nodes that are linked through `L`.
pub struct List<L: Link> {
    head: Option<NonNull<L::Node>>,
    tail: Option<NonNull<L::Node>>,
}

// SAFETY: the list is two pointers. The contracts of its unsafe methods say which thread may access
// the nodes behind them.
unsafe impl<L: Link> Send for List<L> where L::Node: Send {}
// SAFETY: as above. Through a shared reference, the list and its links are only read.
unsafe impl<L: Link> Sync for List<L> where L::Node: Sync {}

impl<L: Link> List<L> {
    /// Creates an empty list.
    pub const fn new() -> Self {
        List { head: None, tail: None }
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Adds `node` at the front.
    ///
    /// # Safety
    /// `node` must be live, in no list, and stay in place until it is removed.
    pub unsafe fn push_front(&mut self, node: NonNull<L::Node>) {
        debug_assert_ne!(self.head, Some(node), "a node can be in a list only once");
        // SAFETY: `node` is live by contract; `head` is in the list and therefore live.
        unsafe {
            let links = L::links(node).as_ref();
            links.prev.set(None);
            links.next.set(self.head);
            match self.head {
                Some(head) => L::links(head).as_ref().prev.set(Some(node)),
                None => self.tail = Some(node),
            }
        }
        self.head = Some(node);
    }

    /// Adds `node` at the back.
    ///
    /// # Safety
    /// As for [`push_front`](Self::push_front).
    pub unsafe fn push_back(&mut self, node: NonNull<L::Node>) {
        debug_assert_ne!(self.tail, Some(node), "a node can be in a list only once");
        // SAFETY: `node` is live by contract; `tail` is in the list and therefore live.
        unsafe {
            let links = L::links(node).as_ref();
            links.prev.set(self.tail);
            links.next.set(None);
            match self.tail {
                Some(tail) => L::links(tail).as_ref().next.set(Some(node)),
                None => self.head = Some(node),
            }
        }
        self.tail = Some(node);
    }

    /// Removes and returns the first node.
    pub fn pop_front(&mut self) -> Option<NonNull<L::Node>> {
        let node = self.head?;
        // SAFETY: `head` is in this list.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// Removes and returns the last node.
    pub fn pop_back(&mut self) -> Option<NonNull<L::Node>> {
        let node = self.tail?;
        // SAFETY: `tail` is in this list.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// Returns the first node.
    pub fn front(&self) -> Option<NonNull<L::Node>> {
        self.head
    }

    /// Returns the last node.
    pub fn back(&self) -> Option<NonNull<L::Node>> {
        self.tail
    }

    /// Returns the node before `node`.
    ///
    /// # Safety
    /// `node` must be in this list.
    pub unsafe fn before(&self, node: NonNull<L::Node>) -> Option<NonNull<L::Node>> {
        // SAFETY: a node in the list is live.
        unsafe { L::links(node).as_ref() }.prev.get()
    }

    /// Calls `f` with each node, first to last.
    pub fn for_each(&self, mut f: impl FnMut(NonNull<L::Node>)) {
        let mut at = self.head;
        while let Some(node) = at {
            // SAFETY: a node in the list is live.
            at = unsafe { L::links(node).as_ref() }.next.get();
            f(node);
        }
    }

    /// Returns the number of nodes, or `max` if there are more.
    pub fn len_up_to(&self, max: usize) -> usize {
        let (mut len, mut at) = (0, self.head);
        while let (Some(node), true) = (at, len < max) {
            len += 1;
            // SAFETY: a node in the list is live.
            at = unsafe { L::links(node).as_ref() }.next.get();
        }
        len
    }

    /// Removes and yields the nodes for which `pick` returns true, first to last.
    ///
    /// The iterator is lazy: a node is examined when the iterator gets to it.
    pub fn extract_if<P: FnMut(NonNull<L::Node>) -> bool>(
        &mut self,
        pick: P,
    ) -> ExtractIf<'_, L, P> {
        ExtractIf { at: self.head, list: self, pick }
    }

    /// Removes `node`. Returns false if it was in no list.
    ///
    /// # Safety
    /// `node` must be live, and in this list or in none.
    pub unsafe fn remove(&mut self, node: NonNull<L::Node>) -> bool {
        // SAFETY: `node` is live by contract. Its neighbours are in this list and therefore live.
        unsafe {
            let links = L::links(node).as_ref();
            match links.prev.get() {
                Some(prev) => L::links(prev).as_ref().next.set(links.next.get()),
                None if self.head == Some(node) => self.head = links.next.get(),
                None => return false,
            }
            match links.next.get() {
                Some(next) => L::links(next).as_ref().prev.set(links.prev.get()),
                None => self.tail = links.prev.get(),
            }
            links.prev.set(None);
            links.next.set(None);
        }
        true
    }
}

/// The iterator of [`List::extract_if`].
pub struct ExtractIf<'a, L: Link, P> {
    list: &'a mut List<L>,
    at: Option<NonNull<L::Node>>,
    pick: P,
}

impl<L: Link, P: FnMut(NonNull<L::Node>) -> bool> Iterator for ExtractIf<'_, L, P> {
    type Item = NonNull<L::Node>;

    fn next(&mut self) -> Option<NonNull<L::Node>> {
        while let Some(node) = self.at {
            // SAFETY: a node in the list is live.
            self.at = unsafe { L::links(node).as_ref() }.next.get();
            if (self.pick)(node) {
                // SAFETY: the node is in this list, which is borrowed exclusively.
                unsafe { self.list.remove(node) };
                return Some(node);
            }
        }
        None
    }
}

impl<L: Link> Default for List<L> {
    fn default() -> Self {
        List::new()
    }
}

impl<L: Link> fmt::Debug for List<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("is_empty", &self.is_empty()).finish()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
