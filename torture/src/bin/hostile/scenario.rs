//! Runs a scenario: several parties use one primitive. Afterwards it checks that nothing is leaked.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful::runtime::{Handle, Runtime};
use wakeful::task::{self, LocalSet};
use wakeful_torture::rng::Rng;

use crate::pool::Pool;
use crate::runtimes;
use crate::shared::Shared;
use crate::world::{self, attempt, discard, finding};

/// The number of steps of all parties together, and after how many a party yields.
const STEPS_MAX: usize = 600;
const STEPS_PER_TURN: usize = 12;

const PARTIES_MAX: usize = 4;

/// How long threads that outlive their runtime may take to drop their values.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a scenario of a primitive.
pub fn run<S: Shared>(rng: &mut Rng) {
    world::begin(rng);
    let shared = Arc::new(S::make(rng));
    if rng.chance(500) {
        let weak = Arc::downgrade(&shared);
        world::set_mischief(Some(Arc::new(move |rng: &mut Rng| {
            // On a thread outside the runtime, an operation that needs one would panic, and rightly
            // so.
            if S::NEEDS_RUNTIME && Handle::try_current().is_err() {
                return;
            }
            if let Some(shared) = weak.upgrade() {
                shared.act(&mut Pool::default(), rng);
            }
        })));
    }
    let parties = parties(&shared, rng);
    if S::NEEDS_RUNTIME || rng.chance(600) {
        with_runtime(parties, rng);
    } else if rng.chance(500) {
        by_turns(parties, rng);
    } else {
        on_threads(parties, None);
    }
    // Drops the handles that are left. A party that still runs may put back more, and the last one
    // drops those.
    shared.clear();
    world::set_mischief(None);
    world::arm(false);
    shared.clear();
    drop(shared);
}

/// Waits until all values and wakers of the scenario are dropped. Returns how many leaked because a
/// drop panicked.
pub fn leaked() -> u64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (values, wakers) = world::live();
        if (values, wakers) == (0, 0) {
            return 0;
        }
        if world::has_drop_panicked() && values >= 0 && wakers >= 0 {
            return (values + wakers) as u64;
        }
        if Instant::now() > deadline {
            finding(format!("{values} values and {wakers} wakers too many (or too few) are alive"));
            return 0;
        }
        thread::sleep(Duration::from_micros(100));
    }
}

fn parties<S: Shared>(shared: &Arc<S>, rng: &mut Rng) -> Vec<Party<S>> {
    let count = 1 + rng.below(PARTIES_MAX);
    let steps = rng.below(STEPS_MAX) / count;
    let party = |_| Party { shared: shared.clone(), pool: Pool::default(), rng: rng.fork(), steps };
    (0..count).map(party).collect()
}

struct Party<S: Shared> {
    shared: Arc<S>,
    pool: Pool,
    rng: Rng,
    steps: usize,
}

impl<S: Shared> Party<S> {
    fn step(&mut self) {
        self.steps -= 1;
        if self.rng.chance(500) {
            self.pool.step(&mut self.rng);
        } else {
            attempt(|| self.shared.act(&mut self.pool, &mut self.rng));
        }
    }

    /// Runs a few steps. Returns `false` after the last one.
    fn turn(&mut self) -> bool {
        let steps = self.steps.min(STEPS_PER_TURN);
        (0..steps).for_each(|_| self.step());
        self.steps > 0
    }

    fn all_turns(mut self) {
        while self.turn() {}
        self.pool.clear();
    }

    async fn all_turns_async(mut self) {
        while self.turn() {
            task::yield_now().await;
        }
        self.pool.clear();
    }
}

/// Runs the parties on this thread, in random order, without a runtime.
fn by_turns<S: Shared>(mut parties: Vec<Party<S>>, rng: &mut Rng) {
    while !parties.is_empty() {
        let at = rng.below(parties.len());
        if parties[at].steps > 0 {
            parties[at].step();
        } else {
            discard(parties.swap_remove(at));
        }
    }
}

/// Runs each party on its own thread.
fn on_threads<S: Shared>(parties: Vec<Party<S>>, runtime: Option<&Handle>) {
    thread::scope(|scope| {
        for party in parties {
            scope.spawn(move || {
                let _inside = runtime.map(Handle::enter);
                discard(attempt(|| party.all_turns()));
            });
        }
    });
}

fn with_runtime<S: Shared>(parties: Vec<Party<S>>, rng: &mut Rng) {
    let runtime = runtimes::any(rng);
    match rng.below(6) {
        0 => on_threads(parties, Some(runtime.handle())),
        1 => {
            let _inside = runtime.enter();
            by_turns(parties, rng);
        }
        2 => on_local_set(&runtime, parties),
        // Drops the runtime while the parties run, since no thread waits for them.
        3 if rng.chance(500) => parties.into_iter().for_each(|party| {
            attempt(|| drop(runtime.spawn(party.all_turns_async())));
        }),
        _ => as_tasks(&runtime, parties),
    }
    world::arm(false);
    runtimes::check(&runtime);
    world::arm(true);
    drop_runtime(runtime, rng);
}

fn as_tasks<S: Shared>(runtime: &Runtime, mut parties: Vec<Party<S>>) {
    attempt(|| {
        runtime.block_on(async {
            let mine = parties.pop();
            let others: Vec<_> = parties
                .into_iter()
                .filter_map(|party| attempt(|| task::spawn(party.all_turns_async())))
                .collect();
            if let Some(party) = mine {
                party.all_turns_async().await;
            }
            for other in others {
                // A hook may have panicked and ended the task of a party.
                if let Err(error) = other.await
                    && let Ok(payload) = error.try_into_panic()
                {
                    world::drop_payload(payload);
                }
            }
        });
    });
}

fn on_local_set<S: Shared>(runtime: &Runtime, parties: Vec<Party<S>>) {
    attempt(|| {
        let set = LocalSet::new();
        for party in parties {
            discard(attempt(|| set.spawn_local(party.all_turns_async())));
        }
        runtime.block_on(set);
    });
}

fn drop_runtime(runtime: Arc<Runtime>, rng: &mut Rng) {
    let Some(runtime) = Arc::into_inner(runtime) else {
        return finding("the runtime is still in use".into());
    };
    match rng.below(8) {
        0 => attempt(|| runtime.shutdown_background()),
        1 => attempt(|| runtime.shutdown_timeout(Duration::from_secs(10))),
        _ => attempt(|| drop(runtime)),
    };
}
