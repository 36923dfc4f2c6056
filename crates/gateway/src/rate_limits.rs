//! Rate limits per token. Concurrency limits per server are in the upstream crate.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::identity::TokenHash;
use crate::options::GatewayOptions;

/// Denials of unauthenticated calls that are recorded each second; the rest is only counted.
const UNAUTHENTICATED_RECORDS_PER_SECOND: u32 = 50;

pub(crate) struct GatewayRateLimits {
    tokens: DefaultKeyedRateLimiter<TokenHash>,
    unauthenticated: DefaultKeyedRateLimiter<()>,
}

impl GatewayRateLimits {
    pub(crate) fn new(options: &GatewayOptions) -> Self {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(options.requests_per_second))
            .allow_burst(at_least_one(options.request_burst));
        Self {
            tokens: RateLimiter::keyed(quota),
            unauthenticated: RateLimiter::keyed(Quota::per_second(at_least_one(
                UNAUTHENTICATED_RECORDS_PER_SECOND,
            ))),
        }
    }

    /// Whether this token may make another request now.
    pub(crate) fn admits_request(&self, token: &TokenHash) -> bool {
        self.tokens.check_key(token).is_ok()
    }

    /// Whether another denial of an unauthenticated caller is recorded now.
    pub(crate) fn admits_unauthenticated(&self) -> bool {
        self.unauthenticated.check_key(&()).is_ok()
    }

    /// Evicts expired entries.
    pub(crate) fn evict_expired(&self) {
        self.tokens.retain_recent();
        self.tokens.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::hash_token;

    fn limits(burst: u32) -> GatewayRateLimits {
        let options = GatewayOptions {
            requests_per_second: 1,
            request_burst: burst,
            ..GatewayOptions::default()
        };
        GatewayRateLimits::new(&options)
    }

    #[test]
    fn a_token_that_asks_too_often_is_refused_and_others_are_not() {
        let limits = limits(2);

        // More than the bound: one permit returns every second.
        let first: Vec<_> = (0..20).map(|_| limits.admits_request(&hash_token("a"))).collect();

        assert!(first.starts_with(&[true, true]) && first.contains(&false), "{first:?}");
        assert!(limits.admits_request(&hash_token("b")));
    }
}
