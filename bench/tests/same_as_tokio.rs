//! The same random calls on Wakeful and on Tokio, step by step with the same outcome.
//!
//! Each file in `runs` is compiled twice, against either crate. A run makes calls that its seed decides on, all on
//! one thread, and writes down what came of each: results, what is ready, who was woken, counts. The two logs must
//! be equal.

#[path = "same_as_tokio/support.rs"]
mod support;

macro_rules! compare {
    ($($run:ident)*) => {
        #[path = "same_as_tokio/runs"]
        mod on_wakeful {
            use wakeful as subject;
            $(pub mod $run;)*
        }

        #[path = "same_as_tokio/runs"]
        mod on_tokio {
            use tokio as subject;
            $(#[allow(clippy::duplicate_mod, reason = "that is the point of it")] pub mod $run;)*
        }

        $(
            #[test]
            fn $run() {
                for seed in 0..support::seeds() {
                    support::assert_same(seed, on_wakeful::$run::run(seed), on_tokio::$run::run(seed));
                }
            }
        )*
    };
}

compare! { barrier broadcast duplex mpsc notify once_cell oneshot rwlock semaphore set_once watch }
