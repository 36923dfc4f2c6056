//! Caches: directories of jobs that survive them (ADR 45).
//!
//! ```text
//! caches/<project>/quota_mib      what the caches of the project may fill together
//! caches/<project>/<key>/         the caches of jobs that may share files; the key is the orchestrator's
//!                       <number>/ a slot: used by one job at a time, whose supervisor locks this directory
//!                         holder  the directory of the job that used it last
//!                         owner   the user that owns all of its files; absent while that changes
//!                         used    its time is that of the last use
//!                         data/   what the job sees
//! ```
//!
//! Invariants: a slot has one user at a time, and is evicted only under its lock, by a rename to a name that is no number: what is
//! half-removed is never used. Links below `data` are never followed.

mod evict;
mod ownership;
mod slot;

use std::path::{Path, PathBuf};

use cynode_wire::nodes::CacheAssignment;

pub(crate) use evict::evict_caches;
pub(crate) use slot::CacheSlot;

/// Path of the cache inside a sandbox.
pub const SANDBOX_CACHE: &str = "/job/cache";
/// Digits of a key.
const KEY_DIGITS: usize = 64;
const QUOTA_FILE: &str = "quota_mib";

/// The directory of the slots for `cache` below `caches`; `None` if its key is no key, which must not become a path.
pub(crate) fn pool_path(caches: &Path, cache: &CacheAssignment) -> Option<PathBuf> {
    is_key(&cache.key).then(|| caches.join(cache.project.to_string()).join(&cache.key))
}

fn is_key(text: &str) -> bool {
    text.len() == KEY_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Tells programs where to keep what they download and build.
pub(crate) fn cache_variables() -> [(&'static str, String); 6] {
    [
        ("CARGO_HOME", "cargo"),
        ("GOCACHE", "go-build"),
        ("GOMODCACHE", "go-mod"),
        ("PIP_CACHE_DIR", "pip"),
        ("XDG_CACHE_HOME", "xdg"),
        ("npm_config_cache", "npm"),
    ]
    .map(|(name, directory)| (name, format!("{SANDBOX_CACHE}/{directory}")))
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::ProjectId;

    use super::*;

    #[test]
    fn a_key_that_is_no_digest_becomes_no_path() {
        let cache = |key: &str| CacheAssignment {
            project: ProjectId::generate(),
            key: key.to_owned(),
            quota_mib: 1,
        };
        let caches = Path::new("/caches");
        let good = cache(&"0a".repeat(32));

        assert_eq!(
            pool_path(caches, &good),
            Some(caches.join(good.project.to_string()).join(&good.key))
        );
        for key in ["", "..", "../../etc", &"0A".repeat(32), &"0a".repeat(33), &"/".repeat(64)] {
            assert_eq!(pool_path(caches, &cache(key)), None, "{key}");
        }
    }
}
