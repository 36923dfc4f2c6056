//! How often somebody may ask. How much may go on with one server, its connection knows.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::identity::TokenHash;
use crate::options::GatewayOptions;

/// Refusals of unknown callers that are recorded each second; more are turned away unrecorded.
const STRANGERS_PER_SECOND: u32 = 50;

/// The limits of one gateway.
pub(crate) struct Limits {
    tokens: DefaultKeyedRateLimiter<TokenHash>,
    strangers: DefaultKeyedRateLimiter<()>,
}

impl Limits {
    pub(crate) fn new(options: &GatewayOptions) -> Self {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(options.requests_per_second))
            .allow_burst(at_least_one(options.request_burst));
        Self {
            tokens: RateLimiter::keyed(quota),
            strangers: RateLimiter::keyed(Quota::per_second(at_least_one(STRANGERS_PER_SECOND))),
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

    /// Forgets what needs no remembering.
    pub(crate) fn sweep(&self) {
        self.tokens.retain_recent();
        self.tokens.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::hash;

    fn limits(burst: u32) -> Limits {
        let options = GatewayOptions {
            requests_per_second: 1,
            request_burst: burst,
            ..GatewayOptions::default()
        };
        Limits::new(&options)
    }

    #[test]
    fn a_token_that_asks_too_often_is_refused_and_others_are_not() {
        let limits = limits(2);

        // More than the bound: one comes back every second.
        let first: Vec<_> = (0..20).map(|_| limits.admits(&hash("a"))).collect();

        assert!(first.starts_with(&[true, true]) && first.contains(&false), "{first:?}");
        assert!(limits.admits(&hash("b")));
    }
}
