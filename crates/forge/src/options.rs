//! How a forge is reached, and the limits of every request.

use std::time::Duration;

use cynode_network::NetworkReach;
use cynode_runtime::clock::SharedClock;
use secrecy::SecretString;

use crate::address::ForgeInstance;

/// One forge and the token that authorizes every request to it.
#[derive(Debug, Clone)]
pub struct ForgeOptions {
    pub instance: ForgeInstance,
    pub token: SecretString,
    /// `Anywhere` only if the administrator configured the forge as internal.
    pub reach: NetworkReach,
    pub limits: ForgeLimits,
    /// Converts relative delays of rate limits.
    pub clock: SharedClock,
}

/// Limits of requests to a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeLimits {
    pub connect_timeout: Duration,
    /// For one request with its whole answer.
    pub request_timeout: Duration,
    pub max_response_bytes: usize,
    /// Entries of one page, 1 to 100.
    pub page_size: u8,
    /// Pages of one list.
    pub max_pages: u16,
    /// Additional requests for one list: write access of authors, comments of reviews.
    pub max_lookups: usize,
}

impl Default for ForgeLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            max_response_bytes: 8 << 20,
            // Gitea allows 50 by default, and silently cuts larger pages.
            page_size: 50,
            max_pages: 20,
            max_lookups: 50,
        }
    }
}
