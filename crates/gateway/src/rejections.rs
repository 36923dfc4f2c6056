//! Requests that are rejected before there is a call: counted, and recorded in aggregate.
//!
//! One record per request would let a flood fill the database. So the gateway counts them by reason
//! and kind of peer, and writes one record per reason at the end of a window.
//!
//! Invariants: memory is bounded by the number of reasons and peers; a count that could not be
//! written is kept for the next window.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::policy::Principal;
use cynode_resources::audit::RejectionSummary;

use crate::identity::Identity;

/// How long rejections are counted before they are recorded.
const WINDOW: TimeDelta = TimeDelta::seconds(10);

/// Why a request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RejectionReason {
    /// Host or Origin is not allowed.
    ForeignHost,
    /// The body is too long, or was truncated.
    PayloadTooLarge,
    /// The content type is not JSON.
    UnsupportedMediaType,
    /// The body is not a protocol message.
    MalformedMessage,
    /// No valid token, and not a tool call.
    Unauthenticated,
    TooManyRequests,
    TooManySessions,
    /// No session id, or one of another token or address.
    WrongSession,
    /// Headers are missing or contradict the body.
    HeaderMismatch,
    /// Opens a server that its caller may not use.
    ServerDenied,
}

impl RejectionReason {
    /// The reason in audit records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ForeignHost => "foreign_host",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::MalformedMessage => "malformed_message",
            Self::Unauthenticated => "unauthenticated",
            Self::TooManyRequests => "too_many_requests",
            Self::TooManySessions => "too_many_sessions",
            Self::WrongSession => "wrong_session",
            Self::HeaderMismatch => "header_mismatch",
            Self::ServerDenied => "server_denied",
        }
    }
}

/// The kind of peer in audit records.
pub(crate) fn peer_kind(identity: Option<&Identity>) -> &'static str {
    match identity.map(|identity| identity.agent) {
        None => "unknown",
        Some(Principal::User) => "user",
        Some(Principal::Agent(_)) => "agent",
    }
}

/// Rejections that are not recorded yet.
#[derive(Default)]
pub(crate) struct Rejections {
    counted: Mutex<BTreeMap<RejectionReason, RejectionSummary>>,
}

impl Rejections {
    pub(crate) fn count(&self, reason: RejectionReason, peer: &'static str, now: DateTime<Utc>) {
        metrics::counter!("cynode_mcp_rejected_total", "reason" => reason.as_str()).increment(1);
        let one = RejectionSummary {
            reason: reason.as_str(),
            peers: BTreeMap::from([(peer, 1)]),
            first: now,
            last: now,
        };
        self.merge(reason, one);
    }

    /// Takes what is due: everything first counted at least one window ago.
    pub(crate) fn take_due(&self, now: DateTime<Utc>) -> Vec<(RejectionReason, RejectionSummary)> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = |summary: &RejectionSummary| now - summary.first >= WINDOW;
        counted.extract_if(.., |_, summary| is_due(summary)).collect()
    }

    /// Takes everything.
    pub(crate) fn take_all(&self) -> Vec<(RejectionReason, RejectionSummary)> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counted).into_iter().collect()
    }

    /// Restores counts that could not be recorded.
    pub(crate) fn restore(&self, summaries: Vec<(RejectionReason, RejectionSummary)>) {
        for (reason, summary) in summaries {
            self.merge(reason, summary);
        }
    }

    fn merge(&self, reason: RejectionReason, more: RejectionSummary) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        match counted.get_mut(&reason) {
            None => drop(counted.insert(reason, more)),
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

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    #[test]
    fn a_flood_is_one_summary_for_each_reason_and_window() {
        let rejections = Rejections::default();
        for number in 0..100_000 {
            rejections.count(RejectionReason::TooManyRequests, "agent", at(number % 5));
        }
        rejections.count(RejectionReason::WrongSession, "user", at(3));

        assert!(rejections.take_due(at(9)).is_empty());
        let due = rejections.take_due(at(10));

        assert_eq!(due.len(), 1, "the other one is younger");
        let (reason, summary) = &due[0];
        assert_eq!((*reason, summary.peers["agent"]), (RejectionReason::TooManyRequests, 100_000));
        assert_eq!((summary.first, summary.last), (at(0), at(4)));
        assert_eq!(rejections.take_all().len(), 1);
    }

    #[test]
    fn what_could_not_be_recorded_is_counted_with_the_next_window() {
        let rejections = Rejections::default();
        rejections.count(RejectionReason::PayloadTooLarge, "unknown", at(0));
        let lost = rejections.take_due(at(20));
        rejections.count(RejectionReason::PayloadTooLarge, "unknown", at(21));

        rejections.restore(lost);

        let all = rejections.take_due(at(21));
        assert_eq!((all[0].1.peers["unknown"], all[0].1.first), (2, at(0)));
    }
}
