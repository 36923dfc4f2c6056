//! Repeated measurements of a duration.

use std::time::{Duration, Instant};

/// Durations of the same operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct DurationSample(Vec<Duration>);

impl DurationSample {
    pub(crate) fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Times `work` this many times.
    pub(crate) async fn measure<E>(
        times: usize,
        mut work: impl AsyncFnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut sample = Self::default();
        for _ in 0..times {
            let begun = Instant::now();
            work().await?;
            sample.push(begun.elapsed());
        }
        Ok(sample)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// The smallest duration that `percent` of all do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_measured_durations() {
        let sample = DurationSample((1..=20).rev().map(Duration::from_millis).collect());

        assert_eq!(sample.median(), Duration::from_millis(10));
        assert_eq!(sample.percentile(95), Duration::from_millis(19));
        assert_eq!(sample.percentile(100), Duration::from_millis(20));
        assert_eq!(DurationSample::default().median(), Duration::ZERO);
    }
}
