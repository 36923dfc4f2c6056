//! Reproducible random points: the seed is printed, and taken from `CYNODE_TEST_SEED`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use cynode_runtime::env;

/// A source of random numbers.
#[derive(Debug)]
pub(crate) struct TestSeed(u64);

impl TestSeed {
    /// The seed of this run, printed with the name of its user.
    pub(crate) fn for_run(user: &str) -> Self {
        let given = env::var("CYNODE_TEST_SEED").map(|text| text.parse().unwrap());
        let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 1);
        println!("{user}: CYNODE_TEST_SEED={seed}");
        Self(seed)
    }

    /// A duration below `longest`.
    pub(crate) fn below(&mut self, longest: Duration) -> Duration {
        let micros = u64::try_from(longest.as_micros()).unwrap();
        Duration::from_micros(self.next() % micros)
    }

    /// A number below `count`.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count).unwrap()).unwrap()
    }

    /// The next number, by the `SplitMix64` recurrence.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
