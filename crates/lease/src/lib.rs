//! Capability leases: signed, short-lived permissions that a worker node verifies without the orchestrator.
//!
//! Start at [`LeaseClaims`] (what a lease permits), then [`LeaseKey::sign`] and [`verify`]. A lease is a PASETO of version 4
//! (Ed25519). Its holder may narrow it with [`narrow`]: the result is a chain of at most [`MAX_LINKS`] tokens, each signed
//! with the key that its predecessor names.
//!
//! Invariants: nothing here performs I/O or reads a clock. A narrower lease never permits more than its predecessor, and a
//! lease that is not known to be valid is refused.

mod claims;
mod key;
mod token;

pub use claims::{LeaseClaims, LeaseRestriction};
pub use key::{InvalidLeaseKey, LeaseKey, LeaseKeyId, LeasePublicKey};
pub use token::{LeaseError, TOKEN_PREFIX, VerifiedLease, narrow, verify};

use std::time::Duration;

/// The longest lifetime of a lease.
pub const MAX_LIFETIME: Duration = Duration::from_mins(15);
/// The lifetime of a lease that asks for none.
pub const DEFAULT_LIFETIME: Duration = Duration::from_mins(5);
/// The most tokens in a chain: a lease that was narrowed twice.
pub const MAX_LINKS: usize = 3;
/// The longest text of a lease.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// How far the clock of a node may be behind that of the orchestrator.
pub const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);
