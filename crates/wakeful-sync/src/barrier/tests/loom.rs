use super::*;
use wakeful_base::block_on;
use wakeful_base::sync::{Arc, thread};

#[test]
fn one_of_two_leads_each_time() {
    ::loom::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let leads = |barrier: &Barrier| block_on(barrier.wait()).is_leader();
        let waiting = thread::spawn(move || [leads(&other), leads(&other)]);
        let own = [leads(&barrier), leads(&barrier)];
        let theirs = waiting.join().unwrap();
        assert!(own[0] != theirs[0] && own[1] != theirs[1]);
    });
}
