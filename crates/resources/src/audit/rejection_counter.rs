//! Requests that are rejected before there is a call: counted, and recorded in aggregate.
//!
//! One record per request would let a flood fill the database. So the edges count them by reason and kind of peer, and
//! the gateway writes one record per reason at the end of a window.
//!
//! Invariants: memory is bounded by the number of reasons and peers; a count that could not be
//! written is kept for the next window.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use super::RejectionSummary;

/// How long rejections are counted before they are recorded.
const WINDOW: TimeDelta = TimeDelta::seconds(10);

/// Rejections that are not recorded yet, by reason. Cheap to clone; clones share the counts.
#[derive(Clone, Default)]
pub struct RejectionCounter {
    counted: Arc<Mutex<BTreeMap<&'static str, RejectionSummary>>>,
}

impl RejectionCounter {
    pub fn count(&self, reason: &'static str, peer: &'static str, now: DateTime<Utc>) {
        let peers = BTreeMap::from([(peer, 1)]);
        self.merge(RejectionSummary { reason, peers, first: now, last: now });
    }

    /// Takes what is due: everything first counted at least one window ago.
    pub fn take_due(&self, now: DateTime<Utc>) -> Vec<RejectionSummary> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = |summary: &RejectionSummary| now - summary.first >= WINDOW;
        counted.extract_if(.., |_, summary| is_due(summary)).map(|(_, summary)| summary).collect()
    }

    /// Takes everything.
    pub fn take_all(&self) -> Vec<RejectionSummary> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counted).into_values().collect()
    }

    /// Restores counts that could not be recorded.
    pub fn restore(&self, summaries: Vec<RejectionSummary>) {
        for summary in summaries {
            self.merge(summary);
        }
    }

    fn merge(&self, more: RejectionSummary) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        match counted.get_mut(more.reason) {
            None => drop(counted.insert(more.reason, more)),
            Some(known) => {
                known.first = known.first.min(more.first);
                known.last = known.last.max(more.last);
                for (peer, count) in more.peers {
                    let known = known.peers.entry(peer).or_default();
                    *known = known.saturating_add(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    #[test]
    fn a_flood_is_one_summary_for_each_reason_and_window() {
        let rejections = RejectionCounter::default();
        for number in 0..100_000 {
            rejections.count("too_many_requests", "agent", second(number % 5));
        }
        rejections.count("wrong_session", "user", second(3));

        assert!(rejections.take_due(second(9)).is_empty());
        let due = rejections.take_due(second(10));

        assert_eq!(due.len(), 1, "the other one is younger");
        assert_eq!((due[0].reason, due[0].peers["agent"]), ("too_many_requests", 100_000));
        assert_eq!((due[0].first, due[0].last), (second(0), second(4)));
        assert_eq!(rejections.take_all().len(), 1);
    }

    #[test]
    fn what_could_not_be_recorded_is_counted_with_the_next_window() {
        let rejections = RejectionCounter::default();
        rejections.count("payload_too_large", "unknown", second(0));
        let lost = rejections.take_due(second(20));
        rejections.count("payload_too_large", "unknown", second(21));

        rejections.restore(lost);

        let all = rejections.take_due(second(21));
        assert_eq!((all[0].peers["unknown"], all[0].first), (2, second(0)));
    }
}
