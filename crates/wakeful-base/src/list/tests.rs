use super::*;
use crate::FastRng;
use std::collections::VecDeque;

struct Item {
    links: Links<Item>,
    value: u32,
}

struct ByLinks;

// SAFETY: the links are a field of the node that only the list accesses.
unsafe impl Link for ByLinks {
    type Node = Item;

    unsafe fn links(node: NonNull<Item>) -> NonNull<Links<Item>> {
        // SAFETY: the node is live by the trait's contract, so the address of its field is valid
        // and not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

fn item(value: u32) -> NonNull<Item> {
    NonNull::from(Box::leak(Box::new(Item { links: Links::new(), value })))
}

fn free(node: NonNull<Item>) -> u32 {
    // SAFETY: every node of these tests comes from `item` and is freed once, after its removal.
    unsafe { Box::from_raw(node.as_ptr()) }.value
}

#[test]
fn behaves_as_a_deque_with_removal() {
    for seed in 1..50 {
        let rng = FastRng::from_seed(seed);
        let mut list = List::<ByLinks>::new();
        let mut model: VecDeque<NonNull<Item>> = VecDeque::new();
        for step in 0..400 {
            // SAFETY: nodes stay where `item` put them, and each is in one list at most.
            unsafe {
                match rng.below(6) {
                    0 | 1 => {
                        let node = item(step);
                        list.push_back(node);
                        model.push_back(node);
                    }
                    2 => {
                        let node = item(step);
                        list.push_front(node);
                        model.push_front(node);
                    }
                    3 => {
                        let (got, want) = (list.pop_front(), model.pop_front());
                        assert_eq!(got, want);
                        got.map(free);
                    }
                    4 => {
                        let (got, want) = (list.pop_back(), model.pop_back());
                        assert_eq!(got, want);
                        got.map(free);
                    }
                    _ => {
                        let at = rng.below(model.len() as u32) as usize;
                        if let Some(node) = model.remove(at) {
                            assert!(list.remove(node));
                            assert!(!list.remove(node), "removed twice");
                            free(node);
                        }
                    }
                }
            }
            assert_eq!(list.is_empty(), model.is_empty());
            assert_eq!(
                (list.front(), list.back()),
                (model.front().copied(), model.back().copied())
            );
            let mut before = None;
            for &node in &model {
                // SAFETY: the node is in the list.
                assert_eq!(unsafe { list.before(node) }, before);
                before = Some(node);
            }
        }
        while let Some(node) = list.pop_front() {
            assert_eq!(Some(node), model.pop_front());
            free(node);
        }
    }
}

#[test]
fn extract_if_removes_the_picked_nodes_and_keeps_the_order_of_the_rest() {
    let mut list = List::<ByLinks>::new();
    for value in 0..10 {
        // SAFETY: nodes stay where `item` put them.
        unsafe { list.push_back(item(value)) };
    }
    // SAFETY: a node in the list is live.
    let odd = |node: NonNull<Item>| unsafe { node.as_ref() }.value % 2 == 1;
    let taken: Vec<_> = list.extract_if(odd).take(3).map(free).collect();
    assert_eq!(taken, [1, 3, 5]);
    let mut rest = Vec::new();
    while let Some(node) = list.pop_front() {
        rest.push(free(node));
    }
    assert_eq!(rest, [0, 2, 4, 6, 7, 8, 9]);
}
