//! How much may go on at once: requests of a token, calls with a server.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cynode_domain::ids::ServerId;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::identity::TokenHash;
use crate::options::GatewayOptions;
use crate::seams::UpstreamError;

/// Refusals of unknown callers that are recorded each second; more are turned away unrecorded.
const STRANGERS_PER_SECOND: u32 = 50;
/// Failures in a row after which a server is left alone for a while.
const FAILURES: u32 = 5;
/// How long it is left alone.
const REST: Duration = Duration::from_secs(5);

/// The limits of one gateway.
pub(crate) struct Limits {
    tokens: DefaultKeyedRateLimiter<TokenHash>,
    strangers: DefaultKeyedRateLimiter<()>,
    servers: Mutex<HashMap<ServerId, Arc<Breaker>>>,
    calls_per_server: usize,
}

impl Limits {
    pub(crate) fn new(options: &GatewayOptions) -> Self {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(options.requests_per_second))
            .allow_burst(at_least_one(options.request_burst));
        Self {
            tokens: RateLimiter::keyed(quota),
            strangers: RateLimiter::keyed(Quota::per_second(at_least_one(STRANGERS_PER_SECOND))),
            servers: Mutex::default(),
            calls_per_server: options.calls_per_server as usize,
        }
    }

    /// Whether this token may make another request now.
    pub(crate) fn admits(&self, token: &TokenHash) -> bool {
        self.tokens.check_key(token).is_ok()
    }

    /// Whether another refusal of an unknown caller is recorded now.
    pub(crate) fn admits_stranger(&self) -> bool {
        self.strangers.check_key(&()).is_ok()
    }

    /// Room for one call with a server; refused at once when there is none, or while it rests.
    pub(crate) fn server(&self, server: ServerId) -> Result<Visit, UpstreamError> {
        let breaker = {
            let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(
                servers
                    .entry(server)
                    .or_insert_with(|| Arc::new(Breaker::new(self.calls_per_server))),
            )
        };
        breaker.visit()
    }

    /// Forgets what needs no remembering.
    pub(crate) fn sweep(&self) {
        self.tokens.retain_recent();
        self.tokens.shrink_to_fit();
    }
}

/// Keeps a server that fails from being asked again and again.
struct Breaker {
    room: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failures: u32,
    rests_until: Option<Instant>,
}

impl Breaker {
    fn new(calls: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(calls)), state: Mutex::default() }
    }

    fn visit(self: Arc<Self>) -> Result<Visit, UpstreamError> {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match state.rests_until {
                Some(until) if Instant::now() < until => {
                    let reason = "it failed several times in a row and is left alone for a moment";
                    return Err(UpstreamError::Unavailable(reason.to_owned()));
                }
                // One visitor tries; its failure sends the server back to rest.
                Some(_) => state.rests_until = Some(Instant::now() + REST),
                None => {}
            }
        }
        let room = Arc::clone(&self.room).try_acquire_owned().map_err(|_| UpstreamError::Busy)?;
        Ok(Visit { breaker: self, _room: room })
    }
}

/// One call with a server, while it lasts.
pub(crate) struct Visit {
    breaker: Arc<Breaker>,
    _room: OwnedSemaphorePermit,
}

impl Visit {
    /// The server answered, if only with an error of its own.
    pub(crate) fn answered(&self) {
        *self.breaker.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// The server did not answer.
    pub(crate) fn failed(&self) {
        let mut state = self.breaker.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures += 1;
        if state.failures >= FAILURES {
            state.rests_until = Some(Instant::now() + REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::hash;

    fn limits(burst: u32, calls: u32) -> Limits {
        let options = GatewayOptions {
            requests_per_second: 1,
            request_burst: burst,
            calls_per_server: calls,
            ..GatewayOptions::default()
        };
        Limits::new(&options)
    }

    #[test]
    fn a_token_that_asks_too_often_is_refused_and_others_are_not() {
        let limits = limits(2, 1);

        let first: Vec<_> = (0..3).map(|_| limits.admits(&hash("a"))).collect();

        assert_eq!(first, [true, true, false]);
        assert!(limits.admits(&hash("b")));
    }

    #[test]
    fn a_busy_server_refuses_at_once_and_others_do_not() {
        let (limits, one, other) = (limits(1, 1), ServerId::generate(), ServerId::generate());
        let visit = limits.server(one).unwrap();

        assert_eq!(limits.server(one).err(), Some(UpstreamError::Busy));
        assert!(limits.server(other).is_ok());
        drop(visit);
        assert!(limits.server(one).is_ok());
    }

    #[test]
    fn a_server_that_fails_again_and_again_is_left_alone() {
        let (limits, server) = (limits(1, 9), ServerId::generate());
        for _ in 0..FAILURES {
            limits.server(server).unwrap().failed();
        }

        assert!(matches!(limits.server(server).err(), Some(UpstreamError::Unavailable(_))));
    }

    #[test]
    fn an_answer_makes_up_for_earlier_failures() {
        let (limits, server) = (limits(1, 9), ServerId::generate());
        for _ in 1..FAILURES {
            limits.server(server).unwrap().failed();
        }
        limits.server(server).unwrap().answered();
        limits.server(server).unwrap().failed();

        assert!(limits.server(server).is_ok());
    }
}
