//! Limits on the requests of one user and of the agents of one project.
//!
//! Start at [`RequestLimits::admit`]. REST, chat and the MCP gateway share one [`RequestLimits`], so that all tokens of a
//! user count together. Open event streams have a limit of their own: a client that listens does not use up its
//! requests.
//!
//! Invariants: a permit returns its places when it is dropped, however its request ends; memory is bounded by the
//! requests in flight and, with rate limits, by the users of the last seconds.

mod in_flight;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProjectId, UserId};
use cynode_domain::policy::Principal;
use cynode_runtime::clock::SharedClock;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use self::in_flight::{CountKey, InFlightCounts, InFlightSlot};
use crate::Caller;
use crate::agents::AgentIdentity;
use crate::agents::signs::OpenRequest;
use crate::audit::RejectionCounter;

/// When a refused request may be sent again, if that depends on the end of others.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Minimum interval between two log lines about refused requests.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The limits. A rate of 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimitOptions {
    /// Requests of a user in flight at once, with all tokens; as many again of agents that act for the user.
    pub requests_per_user: u32,
    /// Requests in flight of agents whose token is bound to the project.
    pub requests_per_project: u32,
    /// Open event streams of a user and of agents that act for the user; agents of one project may have half of them.
    pub streams_per_user: u32,
    pub user_rate_per_second: u32,
    pub project_rate_per_second: u32,
    /// Seconds of the rate that may be used at once.
    pub burst_seconds: u32,
}

impl Default for RequestLimitOptions {
    fn default() -> Self {
        Self {
            requests_per_user: 256,
            requests_per_project: 128,
            streams_per_user: 1024,
            user_rate_per_second: 0,
            project_rate_per_second: 0,
            burst_seconds: 10,
        }
    }
}

/// The sender of a request, as the limits count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    /// A user with a token of their own.
    User(UserId),
    /// An agent that acts for a user; its requests count for both.
    Agent { user: UserId, project: Option<ProjectId> },
}

impl Requester {
    const fn user(self) -> UserId {
        match self {
            Self::User(user) | Self::Agent { user, .. } => user,
        }
    }

    const fn project(self) -> Option<ProjectId> {
        match self {
            Self::User(_) => None,
            Self::Agent { project, .. } => project,
        }
    }

    /// The kind of peer in audit records.
    const fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Agent { .. } => "agent",
        }
    }
}

impl From<&Caller> for Requester {
    fn from(caller: &Caller) -> Self {
        Self::User(caller.user)
    }
}

impl From<&AgentIdentity> for Requester {
    fn from(identity: &AgentIdentity) -> Self {
        match identity.agent {
            Principal::User => Self::User(identity.user),
            Principal::Agent(_) => Self::Agent { user: identity.user, project: identity.project },
        }
    }
}

/// The limit that a request exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLimit {
    UserRequests,
    ProjectRequests,
    UserStreams,
    ProjectStreams,
    UserRate,
    ProjectRate,
}

impl RequestLimit {
    /// The reason in audit records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserRequests => "user_requests_in_flight",
            Self::ProjectRequests => "project_requests_in_flight",
            Self::UserStreams => "user_streams_open",
            Self::ProjectStreams => "project_streams_open",
            Self::UserRate => "user_request_rate",
            Self::ProjectRate => "project_request_rate",
        }
    }
}

/// A refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRefusal {
    pub limit: RequestLimit,
    /// The value of the limit.
    pub value: u32,
    /// When the request may be sent again, rounded up to whole seconds.
    pub retry_after_seconds: u64,
}

impl fmt::Display for RequestRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, wait) = (self.value, self.retry_after_seconds);
        let unit = if wait == 1 { "second" } else { "seconds" };
        match self.limit {
            RequestLimit::UserRequests => write!(
                formatter,
                "too many requests at once: this user may have {value} in flight; wait until one of them ends, then \
                 send this one again (limit: max_requests_per_user)"
            ),
            RequestLimit::ProjectRequests => write!(
                formatter,
                "too many requests at once: the agents of this project may have {value} in flight; wait until one of \
                 them ends, then send this one again (limit: max_requests_per_project)"
            ),
            RequestLimit::UserStreams => write!(
                formatter,
                "too many open event streams: this user may have {value}; close one, then open this one again (limit: \
                 max_streams_per_user)"
            ),
            RequestLimit::ProjectStreams => write!(
                formatter,
                "too many open event streams: the agents of this project may have {value}; close one, then open this one \
                 again (limit: half of max_streams_per_user)"
            ),
            RequestLimit::UserRate => write!(
                formatter,
                "too many requests: this user may send {value} in a second; send this one again in {wait} {unit} \
                 (limit: requests_per_second_per_user)"
            ),
            RequestLimit::ProjectRate => write!(
                formatter,
                "too many requests: the agents of this project may send {value} in a second; send this one again in \
                 {wait} {unit} (limit: requests_per_second_per_project)"
            ),
        }
    }
}

impl std::error::Error for RequestRefusal {}

impl Classified for RequestRefusal {
    fn classify(&self) -> Classification<'_> {
        Classification::new(ErrorClass::RateLimited, self)
    }
}

/// Admits requests within the limits. Cheap to clone; clones share the counts.
#[derive(Clone)]
pub struct RequestLimits(Arc<LimitState>);

struct LimitState {
    options: RequestLimitOptions,
    in_flight: Arc<InFlightCounts>,
    users: Option<DefaultKeyedRateLimiter<UserId>>,
    projects: Option<DefaultKeyedRateLimiter<ProjectId>>,
    /// Refusals that are not recorded yet; the gateway records them.
    rejections: RejectionCounter,
    clock: SharedClock,
    /// Refused since the last log line, and when that was.
    unlogged: Mutex<(u64, Option<Instant>)>,
}

/// Holds the places of an admitted request until it is dropped.
pub struct RequestPermit {
    limits: RequestLimits,
    requester: Requester,
    slots: PermitSlots,
    /// The agent that made the request is alive while it is open.
    #[expect(dead_code, reason = "held only to be dropped")]
    sign: Option<OpenRequest>,
}

/// Held only to be dropped.
#[expect(dead_code, reason = "the slots return their places when they are dropped")]
enum PermitSlots {
    Request { user: InFlightSlot, project: Option<InFlightSlot> },
    Stream { user: InFlightSlot, project: Option<InFlightSlot> },
}

impl RequestLimits {
    pub fn new(
        options: RequestLimitOptions,
        clock: SharedClock,
        rejections: RejectionCounter,
    ) -> Self {
        let burst_seconds = options.burst_seconds.max(1);
        let quota = |rate: u32| {
            let burst = NonZeroU32::new(rate.saturating_mul(burst_seconds))?;
            Some(Quota::per_second(NonZeroU32::new(rate)?).allow_burst(burst))
        };
        Self(Arc::new(LimitState {
            options,
            in_flight: Arc::new(InFlightCounts::new()),
            users: quota(options.user_rate_per_second).map(RateLimiter::keyed),
            projects: quota(options.project_rate_per_second).map(RateLimiter::keyed),
            rejections,
            clock,
            unlogged: Mutex::default(),
        }))
    }

    /// Admits a request by rate and by requests in flight.
    pub fn admit(&self, requester: Requester) -> Result<RequestPermit, RequestRefusal> {
        self.check_rate(requester)?;
        self.acquire(requester)
    }

    /// Admits a request by rate. Its only check if it ends other requests, such as a cancellation.
    pub fn check_rate(&self, requester: Requester) -> Result<(), RequestRefusal> {
        let LimitState { options, users, projects, .. } = &*self.0;
        if let Some((limiter, project)) = projects.as_ref().zip(requester.project())
            && let Some(wait) = exceeded_for(limiter, &project)
        {
            let value = options.project_rate_per_second;
            return Err(self.refuse(requester, RequestLimit::ProjectRate, value, wait));
        }
        if let Some(limiter) = users
            && let Some(wait) = exceeded_for(limiter, &requester.user())
        {
            let value = options.user_rate_per_second;
            return Err(self.refuse(requester, RequestLimit::UserRate, value, wait));
        }
        Ok(())
    }

    /// Admits a request by requests in flight.
    pub fn acquire(&self, requester: Requester) -> Result<RequestPermit, RequestRefusal> {
        let LimitState { options, in_flight, .. } = &*self.0;
        let project = match requester.project() {
            None => None,
            Some(project) => {
                let (key, value) =
                    (CountKey::ProjectRequests(project), options.requests_per_project);
                let slot = in_flight.acquire(key, value).ok_or_else(|| {
                    self.refuse(requester, RequestLimit::ProjectRequests, value, RETRY_DELAY)
                })?;
                Some(slot)
            }
        };
        // Agents have places of their own: a user whose agents are busy can still look at them and cancel them, and a request
        // of a user that waits for an agent does not keep the agent's requests out.
        let user = requester.user();
        let (key, value) = match requester {
            Requester::User(_) => (CountKey::Requests(user), options.requests_per_user),
            Requester::Agent { .. } => (CountKey::AgentRequests(user), options.requests_per_user),
        };
        let user = in_flight.acquire(key, value).ok_or_else(|| {
            self.refuse(requester, RequestLimit::UserRequests, value, RETRY_DELAY)
        })?;
        let slots = PermitSlots::Request { user, project };
        Ok(RequestPermit { limits: self.clone(), requester, slots, sign: None })
    }

    /// Counts of refused requests that are not recorded yet.
    pub fn rejections(&self) -> &RejectionCounter {
        &self.0.rejections
    }

    /// Removes rates of users and projects without recent requests.
    pub fn evict_idle(&self) {
        if let Some(users) = &self.0.users {
            users.retain_recent();
            users.shrink_to_fit();
        }
        if let Some(projects) = &self.0.projects {
            projects.retain_recent();
            projects.shrink_to_fit();
        }
    }

    fn refuse(
        &self,
        requester: Requester,
        limit: RequestLimit,
        value: u32,
        wait: Duration,
    ) -> RequestRefusal {
        metrics::counter!("cynode_requests_refused_total", "limit" => limit.as_str()).increment(1);
        self.0.rejections.count(limit.as_str(), requester.kind(), self.0.clock.now());
        let mut unlogged = self.0.unlogged.lock().unwrap_or_else(PoisonError::into_inner);
        unlogged.0 += 1;
        if unlogged.1.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            let refused = std::mem::take(&mut unlogged.0);
            unlogged.1 = Some(Instant::now());
            tracing::warn!(
                refused, limit = limit.as_str(), user.id = %requester.user(), peer = requester.kind(),
                "request limit reached, requests are refused: see max_requests_per_user and \
                 requests_per_second_per_user under [orchestrator]"
            );
        }
        let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        RequestRefusal { limit, value, retry_after_seconds: whole.max(1) }
    }
}

/// How long the next request has to wait; `None` if it may be sent now.
fn exceeded_for<K: Clone + Eq + std::hash::Hash>(
    limiter: &DefaultKeyedRateLimiter<K>,
    key: &K,
) -> Option<Duration> {
    let refused = limiter.check_key(key).err()?;
    Some(refused.wait_time_from(DefaultClock::default().now()))
}

impl RequestPermit {
    /// Holds a sign of life of the agent that made the request.
    #[must_use]
    pub fn with_sign(self, sign: Option<OpenRequest>) -> Self {
        Self { sign, ..self }
    }

    /// Counts the request as an open stream from now on. If no stream may be opened, it stays a request.
    pub fn become_stream(&mut self) -> Result<(), RequestRefusal> {
        let LimitState { options, in_flight, .. } = &*self.limits.0;
        let acquire = |key, value, limit| {
            in_flight
                .acquire(key, value)
                .ok_or_else(|| self.limits.refuse(self.requester, limit, value, RETRY_DELAY))
        };
        let project = match self.requester.project() {
            None => None,
            Some(project) => {
                let value = options.streams_per_user.div_ceil(2);
                let key = CountKey::ProjectStreams(project);
                Some(acquire(key, value, RequestLimit::ProjectStreams)?)
            }
        };
        let key = CountKey::Streams(self.requester.user());
        let user = acquire(key, options.streams_per_user, RequestLimit::UserStreams)?;
        self.slots = PermitSlots::Stream { user, project };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cynode_runtime::clock::SystemClock;

    use super::*;

    fn limits(options: RequestLimitOptions) -> RequestLimits {
        RequestLimits::new(options, Arc::new(SystemClock), RejectionCounter::default())
    }

    fn small() -> RequestLimitOptions {
        RequestLimitOptions {
            requests_per_user: 4,
            requests_per_project: 2,
            streams_per_user: 1,
            ..RequestLimitOptions::default()
        }
    }

    fn agent(user: UserId, project: ProjectId) -> Requester {
        Requester::Agent { user, project: Some(project) }
    }

    fn limit_of<T>(outcome: Result<T, RequestRefusal>) -> Option<RequestLimit> {
        outcome.err().map(|refusal| refusal.limit)
    }

    #[test]
    fn agents_of_one_project_leave_places_to_the_user_and_to_another_project() {
        let (limits, user) = (limits(small()), UserId::generate());
        let (busy, quiet) = (ProjectId::generate(), ProjectId::generate());

        let held: Vec<_> = (0..2).map(|_| limits.admit(agent(user, busy)).unwrap()).collect();

        assert_eq!(limit_of(limits.admit(agent(user, busy))), Some(RequestLimit::ProjectRequests));
        assert!(limits.admit(agent(user, quiet)).is_ok());
        assert!(limits.admit(Requester::User(user)).is_ok());
        drop(held);
        assert!(limits.admit(agent(user, busy)).is_ok());
        assert_eq!(limits.0.in_flight.len(), 0);
    }

    #[test]
    fn a_user_and_the_agents_that_act_for_the_user_leave_places_to_each_other() {
        let (limits, user) = (limits(small()), UserId::generate());
        let of_agent = || Requester::Agent { user, project: None };
        for busy in [Requester::User(user), of_agent()] {
            let other = if busy == of_agent() { Requester::User(user) } else { of_agent() };
            let held: Vec<_> = (0..4).map(|_| limits.admit(busy).unwrap()).collect();

            assert_eq!(limit_of(limits.admit(busy)), Some(RequestLimit::UserRequests));
            assert!(limits.admit(other).is_ok(), "{other:?}");

            drop(held);
            assert_eq!(limits.0.in_flight.len(), 0, "a refused request leaves no count behind");
        }
    }

    #[test]
    fn streams_of_the_agents_of_one_project_leave_places_to_others() {
        let options = RequestLimitOptions { streams_per_user: 4, ..small() };
        let (limits, user) = (limits(options), UserId::generate());
        let (busy, quiet) = (ProjectId::generate(), ProjectId::generate());
        let open = |requester| {
            let mut permit = limits.admit(requester)?;
            permit.become_stream().map(|()| permit)
        };
        let _held: Vec<_> = (0..2).map(|_| open(agent(user, busy)).unwrap()).collect();

        assert_eq!(limit_of(open(agent(user, busy))), Some(RequestLimit::ProjectStreams));
        assert!(open(agent(user, quiet)).is_ok());
        assert!(open(Requester::User(user)).is_ok());
    }

    #[test]
    fn a_stream_gives_back_the_place_of_its_request_and_has_a_limit_of_its_own() {
        let (limits, user) = (limits(small()), UserId::generate());
        let mut stream = limits.admit(Requester::User(user)).unwrap();
        stream.become_stream().unwrap();
        let mut second = limits.admit(Requester::User(user)).unwrap();

        assert_eq!(limit_of(second.become_stream()), Some(RequestLimit::UserStreams));
        let rest: Vec<_> = (0..3).map(|_| limits.admit(Requester::User(user)).unwrap()).collect();
        assert!(limits.admit(Requester::User(user)).is_err(), "the second one stays a request");

        drop((stream, second, rest));
        assert_eq!(limits.0.in_flight.len(), 0);
    }

    #[test]
    fn rates_are_counted_for_each_user_and_project_and_say_when_to_send_again() {
        let options = RequestLimitOptions {
            user_rate_per_second: 2,
            project_rate_per_second: 1,
            burst_seconds: 3,
            ..RequestLimitOptions::default()
        };
        let (limits, user) = (limits(options), UserId::generate());
        let (busy, quiet) = (ProjectId::generate(), ProjectId::generate());
        let send = |who| (0..50).find_map(|_| limits.check_rate(who).err());

        let refusal = send(agent(user, busy)).unwrap();

        assert_eq!((refusal.limit, refusal.value), (RequestLimit::ProjectRate, 1));
        assert_eq!(refusal.retry_after_seconds, 1);
        assert!(refusal.to_string().contains("again in 1 second "), "{refusal}");
        assert_eq!(limits.check_rate(agent(user, quiet)), Ok(()));
        assert_eq!(send(Requester::User(user)).unwrap().limit, RequestLimit::UserRate);
        assert_eq!(limits.check_rate(Requester::User(UserId::generate())), Ok(()));
    }

    #[test]
    fn without_a_rate_no_number_of_requests_is_refused() {
        let (limits, user) = (limits(small()), UserId::generate());

        assert!((0..10_000).all(|_| limits.admit(Requester::User(user)).is_ok()));
        assert!(limits.rejections().take_all().is_empty());
    }
}
