//! An intrusive doubly linked list.
//!
//! The links live inside the nodes, so that neither insertion nor removal allocates. The list owns no
//! node: whoever pushes one promises that it stays where it is until it has been taken out.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

/// Says where a node keeps its links.
///
/// # Safety
/// [`links`](Self::links) must return the same place for the same node every time, inside the node's
/// own memory, and nothing but the list may write to it while the node is in one.
pub unsafe trait Link {
    /// What is linked.
    type Node;

    /// The links of `node`.
    ///
    /// # Safety
    /// `node` must point to a live node.
    unsafe fn links(node: NonNull<Self::Node>) -> NonNull<Links<Self::Node>>;
}

/// A node's two neighbours.
pub struct Links<N> {
    prev: Cell<Option<NonNull<N>>>,
    next: Cell<Option<NonNull<N>>>,
}

impl<N> Links<N> {
    /// Links of a node that is in no list.
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

/// A list of nodes linked through `L`.
pub struct List<L: Link> {
    head: Option<NonNull<L::Node>>,
    tail: Option<NonNull<L::Node>>,
}

// SAFETY: the list is two pointers; who may touch the nodes behind them is settled by the unsafe
// contracts of its methods.
unsafe impl<L: Link> Send for List<L> where L::Node: Send {}
// SAFETY: as above; through a shared borrow the list and its links are only read.
unsafe impl<L: Link> Sync for List<L> where L::Node: Sync {}

impl<L: Link> List<L> {
    /// An empty list.
    pub const fn new() -> Self {
        List { head: None, tail: None }
    }

    /// Whether no node is in the list.
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Puts `node` first.
    ///
    /// # Safety
    /// `node` must be live, in no list, and stay in place until taken out.
    pub unsafe fn push_front(&mut self, node: NonNull<L::Node>) {
        debug_assert_ne!(self.head, Some(node), "a node can be in a list only once");
        // SAFETY: the caller gives a live node; `head`, being in the list, is live too.
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

    /// Puts `node` last.
    ///
    /// # Safety
    /// As for [`push_front`](Self::push_front).
    pub unsafe fn push_back(&mut self, node: NonNull<L::Node>) {
        debug_assert_ne!(self.tail, Some(node), "a node can be in a list only once");
        // SAFETY: the caller gives a live node; `tail`, being in the list, is live too.
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

    /// Takes the first node out.
    pub fn pop_front(&mut self) -> Option<NonNull<L::Node>> {
        let node = self.head?;
        // SAFETY: `head` is in this list.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// Takes the last node out.
    pub fn pop_back(&mut self) -> Option<NonNull<L::Node>> {
        let node = self.tail?;
        // SAFETY: `tail` is in this list.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// The first node.
    pub fn front(&self) -> Option<NonNull<L::Node>> {
        self.head
    }

    /// The last node.
    pub fn back(&self) -> Option<NonNull<L::Node>> {
        self.tail
    }

    /// The node before `node`.
    ///
    /// # Safety
    /// `node` must be in this list.
    pub unsafe fn before(&self, node: NonNull<L::Node>) -> Option<NonNull<L::Node>> {
        // SAFETY: what is in the list is live.
        unsafe { L::links(node).as_ref() }.prev.get()
    }

    /// Calls `f` with each node, first to last.
    pub fn for_each(&self, mut f: impl FnMut(NonNull<L::Node>)) {
        let mut at = self.head;
        while let Some(node) = at {
            // SAFETY: what is in the list is live.
            at = unsafe { L::links(node).as_ref() }.next.get();
            f(node);
        }
    }

    /// Takes out, one at a time, the nodes for which `pick` is true, first to last.
    pub fn extract_if<P: FnMut(NonNull<L::Node>) -> bool>(
        &mut self,
        pick: P,
    ) -> ExtractIf<'_, L, P> {
        ExtractIf { at: self.head, list: self, pick }
    }

    /// Takes `node` out. False if it was in no list.
    ///
    /// # Safety
    /// `node` must be live and in this list or in none.
    pub unsafe fn remove(&mut self, node: NonNull<L::Node>) -> bool {
        // SAFETY: `node` is live by contract, and so are its neighbours, being in this list.
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

/// Iterator of [`List::extract_if`].
pub struct ExtractIf<'a, L: Link, P> {
    list: &'a mut List<L>,
    at: Option<NonNull<L::Node>>,
    pick: P,
}

impl<L: Link, P: FnMut(NonNull<L::Node>) -> bool> Iterator for ExtractIf<'_, L, P> {
    type Item = NonNull<L::Node>;

    fn next(&mut self) -> Option<NonNull<L::Node>> {
        while let Some(node) = self.at {
            // SAFETY: what is in the list is live.
            self.at = unsafe { L::links(node).as_ref() }.next.get();
            if (self.pick)(node) {
                // SAFETY: it is in this list, which nobody else touches while we borrow it.
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
