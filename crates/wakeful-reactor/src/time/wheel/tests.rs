use super::*;
use std::collections::BTreeSet;
use wakeful_base::FastRng;

/// A wheel, and a sorted set of deadlines that says what it should do.
struct CheckedWheel {
    wheel: Wheel,
    nodes: Box<[TimerNode]>,
    /// The deadline with which each timer was last inserted.
    deadlines_ns: Vec<u64>,
    /// Deadline and index of each timer in the wheel.
    model: BTreeSet<(u64, usize)>,
    now_ns: u64,
}

impl CheckedWheel {
    fn new(now_ns: u64, timers: usize) -> CheckedWheel {
        let nodes = (0..timers).map(|_| TimerNode::new()).collect();
        let (wheel, model) = (Wheel::new(now_ns), BTreeSet::new());
        CheckedWheel { wheel, nodes, deadlines_ns: vec![0; timers], model, now_ns }
    }

    fn node(&self, index: usize) -> NonNull<TimerNode> {
        NonNull::from(&self.nodes[index])
    }

    fn index_of(&self, node: NonNull<TimerNode>) -> usize {
        self.nodes.iter().position(|it| NonNull::from(it) == node).expect("one of ours")
    }

    fn insert(&mut self, index: usize, deadline_ns: u64) {
        if !self.nodes[index].is_held() {
            let node = self.node(index);
            // SAFETY: the node is in no wheel, and nodes do not move.
            unsafe { self.wheel.insert(node, deadline_ns) };
            self.deadlines_ns[index] = deadline_ns;
            self.model.insert((deadline_ns, index));
        }
    }

    fn remove(&mut self, index: usize) {
        let node = self.node(index);
        // SAFETY: the node is in this wheel or in none.
        let is_gone = unsafe { self.wheel.remove(node) };
        assert_eq!(is_gone, !self.nodes[index].is_held());
        self.model.remove(&(self.deadlines_ns[index], index));
    }

    fn reinsert(&mut self, index: usize, deadline_ns: u64) {
        self.model.remove(&(self.deadlines_ns[index], index));
        let node = self.node(index);
        // SAFETY: the node is in this wheel or in none, and nodes do not move.
        if unsafe { self.wheel.reinsert(node, deadline_ns) } {
            self.deadlines_ns[index] = deadline_ns;
            self.model.insert((deadline_ns, index));
        }
    }

    fn advance(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        let mut last = 0;
        while let Some(popped) = self.wheel.pop(now_ns) {
            let Popped::Due(node) = popped else { continue };
            let index = self.index_of(node);
            let deadline_ns = self.deadlines_ns[index];
            assert!(deadline_ns <= now_ns, "early: {deadline_ns} at {now_ns}");
            assert!(deadline_ns >= last, "out of order");
            assert!(self.model.remove(&(deadline_ns, index)), "not wanted any more");
            last = deadline_ns;
        }
        let earliest = self.model.first().map(|&(deadline_ns, _)| deadline_ns);
        assert!(
            earliest.is_none_or(|earliest| earliest > now_ns),
            "missed {earliest:?} at {now_ns}"
        );
        match (earliest, self.wheel.next_ns()) {
            (None, _) => {}
            (Some(earliest), Some(next)) => assert!(now_ns < next && next <= earliest),
            (Some(_), None) => panic!("the wheel says there is nothing"),
        }
    }
}

/// Returns a time span, with all magnitudes equally likely.
fn any_span(rng: &FastRng) -> u64 {
    rng.next_u64() >> rng.below(64)
}

#[test]
fn behaves_like_a_sorted_set() {
    for seed in 1..200 {
        let rng = FastRng::from_seed(seed);
        let mut checked = CheckedWheel::new(any_span(&rng), 50);
        for _ in 0..500 {
            let index = rng.below(50) as usize;
            match rng.below(10) {
                0..4 => {
                    let deadline_ns = checked.now_ns.saturating_add(any_span(&rng));
                    checked.insert(index, deadline_ns);
                }
                4 => checked.insert(index, checked.now_ns.saturating_sub(any_span(&rng))),
                5 => checked.remove(index),
                8 => checked.reinsert(index, checked.now_ns.saturating_add(any_span(&rng))),
                9 => {
                    let change = any_span(&rng) >> 8;
                    checked.reinsert(index, checked.deadlines_ns[index] ^ change);
                }
                6 => {
                    let next = checked.wheel.next_ns().unwrap_or(checked.now_ns);
                    checked.advance(next.max(checked.now_ns));
                }
                _ => {
                    let span = any_span(&rng) >> 8;
                    checked.advance(checked.now_ns.saturating_add(span));
                }
            }
        }
        checked.advance(u64::MAX);
        assert!(checked.wheel.is_empty());
    }
}

#[test]
fn deadlines_of_one_slot_come_out_to_the_nanosecond() {
    let mut checked = CheckedWheel::new(0, 3);
    for (index, deadline_ns) in [1_000_003, 1_000_001, 1_000_002].into_iter().enumerate() {
        checked.insert(index, deadline_ns);
    }
    assert_eq!(checked.wheel.next_ns(), Some(1_000_001));
    checked.advance(1_000_000);
    assert_eq!(checked.model.len(), 3);
    checked.advance(1_000_002);
    assert_eq!(checked.wheel.next_ns(), Some(1_000_003));
}

#[test]
fn the_largest_deadline_can_be_waited_for() {
    let mut checked = CheckedWheel::new(u64::MAX - 10, 2);
    checked.insert(0, u64::MAX);
    checked.insert(1, u64::MAX - 5);
    checked.advance(u64::MAX - 1);
    assert_eq!(checked.model.len(), 1);
    checked.advance(u64::MAX);
    assert!(checked.model.is_empty());
}

#[test]
fn a_far_timer_takes_a_few_wake_ups_only() {
    let mut checked = CheckedWheel::new(12_345, 1);
    checked.insert(0, 12_345 + 3_600_000_000_000);
    let mut looks = 0;
    while !checked.model.is_empty() {
        let next = checked.wheel.next_ns().unwrap();
        checked.advance(next);
        looks += 1;
    }
    assert!(looks <= LEVELS, "{looks} looks for one timer");
}

#[test]
fn timers_that_never_fire_leave_nothing_behind() {
    let mut checked = CheckedWheel::new(0, 1);
    for round in 0..100_000u64 {
        checked.insert(0, round + 60_000_000_000);
        checked.remove(0);
        checked.advance(round);
    }
    assert!(checked.wheel.is_empty());
    assert_eq!(checked.wheel.next_ns(), None);
}

#[test]
fn timers_of_one_deadline_come_out_first_in_first_out() {
    let mut checked = CheckedWheel::new(0, 40);
    // Some are inserted from afar, some from close by.
    for index in 0..20 {
        checked.insert(index, 600_000_000);
    }
    checked.advance(599_999_000);
    for index in 20..40 {
        checked.insert(index, 600_000_000);
    }
    for index in 0..40 {
        let Some(Popped::Due(node)) = checked.wheel.pop(600_000_000) else { panic!("not due") };
        assert_eq!(checked.index_of(node), index);
    }
}

#[test]
fn a_postponed_timer_goes_behind_those_of_its_new_deadline() {
    let mut checked = CheckedWheel::new(0, 3);
    for index in 0..3 {
        checked.insert(index, 60_000_000_000);
    }
    // Within its slot, and for the same deadline again.
    checked.reinsert(0, 60_000_000_001);
    checked.reinsert(1, 60_000_000_001);
    checked.reinsert(0, 60_000_000_001);
    for index in [2, 1, 0] {
        let Some(Popped::Due(node)) = checked.wheel.pop(60_000_000_001) else { panic!("not due") };
        assert_eq!(checked.index_of(node), index);
    }
    assert!(checked.wheel.is_empty());
}

#[test]
fn removing_a_timer_does_not_affect_others_in_its_slot() {
    let rng = FastRng::from_seed(7);
    let mut checked = CheckedWheel::new(0, 1000);
    for round in 0..5 {
        // All but a few are removed. The others come out in the order in which they were inserted.
        let deadline_ns = checked.now_ns + 60_000_000_000;
        for index in 0..1000 {
            checked.insert(index, deadline_ns);
        }
        for _ in 0..10_000 {
            checked.remove(rng.below(1000) as usize);
            if checked.model.len() == 5 + round {
                break;
            }
        }
        let left: Vec<_> = checked.model.iter().map(|&(_, index)| index).collect();
        for index in left {
            let Some(Popped::Due(node)) = checked.wheel.pop(deadline_ns) else { panic!("not due") };
            assert_eq!(checked.index_of(node), index);
        }
        checked.model.clear();
        checked.advance(deadline_ns);
        assert!(checked.wheel.is_empty());
    }
}

#[test]
fn a_slots_memory_is_released_with_its_timers() {
    let room = |wheel: &Wheel| -> usize {
        let slots = wheel.levels.iter().flat_map(|level| &level.slots);
        slots.map(|slot| slot.0.capacity()).sum()
    };
    let mut checked = CheckedWheel::new(0, 1000);
    for index in 0..1000 {
        checked.insert(index, 60_000_000_000);
    }
    assert!(room(&checked.wheel) >= 1000);
    for index in 0..1000 {
        checked.remove(index);
    }
    assert!(room(&checked.wheel) <= SLOT_CAPACITY_KEPT);
    for index in 0..1000 {
        checked.insert(index, 60_000_000_000);
    }
    checked.advance(60_000_000_000);
    assert!(room(&checked.wheel) <= LEVELS * SLOT_CAPACITY_KEPT);
}
