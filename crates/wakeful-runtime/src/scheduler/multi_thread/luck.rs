//! Whether it pays to go on searching once the first look has found nothing.
//!
//! A search that finds something spares a wake-up, which costs as much as the search at its longest. One
//! that finds nothing costs just as much, for nothing: a worker that gets something to do every now and then
//! would spend most of its time so. It therefore goes by how it fared, and tries again from time to time.

/// What one success is worth, in failures. A third of all searches must succeed for it to pay.
const HIT: u8 = 2;

/// After so many failures in a row it gives up.
const SCORE_MAX: u8 = 8;

/// Of so many searches it then does nothing,
const PAUSE: u8 = 64;

/// and tries as many again in a row: the first may fail just because we slept before, and our peer with us.
const SCORE_AFTER_PAUSE: u8 = 4;

pub(super) struct Luck {
    score: u8,
    paused: u8,
}

impl Luck {
    pub(super) fn new() -> Luck {
        Luck { score: SCORE_MAX, paused: 0 }
    }

    /// Whether to go on with this search.
    pub(super) fn is_worth_a_try(&mut self) -> bool {
        if self.score == 0 {
            self.paused += 1;
            if self.paused == PAUSE {
                (self.score, self.paused) = (SCORE_AFTER_PAUSE, 0);
            }
        }
        self.score > 0
    }

    /// What came of one that went on.
    pub(super) fn note(&mut self, has_found: bool) {
        self.score = if has_found {
            (self.score + HIT).min(SCORE_MAX)
        } else {
            self.score.saturating_sub(1)
        };
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// How many of `count` searches are tried, each of which finds something if `finds` says so.
    fn tries(luck: &mut Luck, count: usize, finds: impl Fn(usize) -> bool) -> usize {
        (0..count)
            .filter(|&search| {
                let tried = luck.is_worth_a_try();
                if tried {
                    luck.note(finds(search));
                }
                tried
            })
            .count()
    }

    #[test]
    fn what_never_succeeds_is_tried_now_and_then() {
        let mut luck = Luck::new();
        assert_eq!(tries(&mut luck, usize::from(SCORE_MAX), |_| false), usize::from(SCORE_MAX));
        let round = usize::from(PAUSE - 1 + SCORE_AFTER_PAUSE);
        assert_eq!(tries(&mut luck, 100 * round, |_| false), 100 * usize::from(SCORE_AFTER_PAUSE));
    }

    #[test]
    fn what_succeeds_every_other_time_is_always_tried() {
        let mut luck = Luck::new();
        assert_eq!(tries(&mut luck, 1000, |search| search % 2 == 1), 1000);
    }

    #[test]
    fn what_succeeds_rarely_is_tried_rarely() {
        let tried = tries(&mut Luck::new(), 10_000, |search| search % 10 == 9);
        assert!(tried < 2000, "{tried}");
    }

    #[test]
    fn better_times_are_noticed() {
        let mut luck = Luck::new();
        tries(&mut luck, 1000, |_| false);
        tries(&mut luck, usize::from(PAUSE), |_| true);
        assert_eq!(tries(&mut luck, 1000, |_| true), 1000);
    }
}
