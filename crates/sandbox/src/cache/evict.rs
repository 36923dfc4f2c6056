//! Evicts caches: the least recently used slots of a project, until the others fit into its quota.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cynode_runtime::clock::Clock as _;
use cynode_runtime::clock::SystemClock;
use cynode_runtime::failpoint;

use super::slot::{CacheSlot, EVICTED_PREFIX};
use super::{QUOTA_FILE, is_key};
use crate::remove::remove_tree;
use crate::shim::disk::measure_bytes;

/// Slots that no job used for this long are evicted.
const MAX_IDLE: Duration = Duration::from_hours(30 * 24);

struct FoundSlot {
    path: PathBuf,
    bytes: u64,
    last_use: SystemTime,
}

/// Evicts what exceeds the quota of each project in `caches`, and what earlier processes left half-removed.
pub(crate) fn evict_caches(caches: &Path) -> io::Result<()> {
    for project in list_dirs(caches)? {
        evict_project(&project)?;
    }
    Ok(())
}

pub(super) fn evict_project(project: &Path) -> io::Result<()> {
    let mut slots = vec![];
    let mut leftovers = vec![];
    let is_pool =
        |path: &PathBuf| path.file_name().is_some_and(|name| is_key(&name.to_string_lossy()));
    for pool in list_dirs(project)?.into_iter().filter(is_pool) {
        for path in list_dirs(&pool)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(EVICTED_PREFIX) {
                leftovers.push(path);
            } else if name.parse::<u32>().is_ok() {
                slots.push(find_slot(path));
            }
        }
    }
    leftovers.iter().try_for_each(|path| remove_tree(path))?;
    // A quota that cannot be read allows nothing.
    let quota = fs::read_to_string(project.join(QUOTA_FILE)).ok();
    let quota = quota.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0) << 20;
    let now = SystemTime::from(SystemClock.now());
    let mut total = slots.iter().fold(0_u64, |sum, slot| sum.saturating_add(slot.bytes));
    // A slot that is nearly full alone would end the next job that uses it.
    let is_full = |slot: &FoundSlot| slot.bytes > quota / 4 * 3;
    slots.sort_by_key(|slot| (!is_full(slot), slot.last_use));
    for slot in slots {
        let idle = now.duration_since(slot.last_use).unwrap_or_default();
        if (total > quota || quota == 0 || is_full(&slot) || idle > MAX_IDLE)
            && evict_slot(&slot.path)?
        {
            total = total.saturating_sub(slot.bytes);
        }
    }
    Ok(())
}

fn find_slot(path: PathBuf) -> FoundSlot {
    let used = fs::metadata(path.join("used")).and_then(|used| used.modified());
    let bytes = measure_bytes(&path.join("data"));
    FoundSlot { path, bytes, last_use: used.unwrap_or(SystemTime::UNIX_EPOCH) }
}

/// Returns false if the slot is in use.
fn evict_slot(path: &Path) -> io::Result<bool> {
    let Some(slot) = CacheSlot::lock(path)? else { return Ok(false) };
    let aside = slot.set_aside()?;
    failpoint::hit("cache_set_aside", "node");
    remove_tree(&aside)?;
    tracing::info!(cache.slot = %path.display(), "cache evicted");
    Ok(true)
}

fn list_dirs(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let mut found = vec![];
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}
