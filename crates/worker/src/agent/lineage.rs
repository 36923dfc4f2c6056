//! Identifies this process of the node and its predecessors on the same state directory.
//!
//! The orchestrator accepts one process per node name. The next process on the same directory takes
//! over at once, because it can prove that its predecessor has ended: it holds the directory's lock, and
//! the directory is the same one since the same boot. A copied directory has another inode, so a process
//! that starts in a copy has no predecessors.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cynode_domain::ids::IncarnationId;
use cynode_sandbox::durable_files;
use cynode_wire::nodes::Incarnation;
use serde::{Deserialize, Serialize};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Maximum number of recorded processes that the orchestrator never confirmed.
const MAX_INCARNATIONS: usize = 32;

/// Content of `node.lineage` in the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LineageRecord {
    /// Processes whose jobs may be in this directory, newest first.
    incarnations: Vec<IncarnationId>,
    /// Inode and device of the directory; a copy has different ones.
    inode: u64,
    device: u64,
    /// Boot id of the machine when the newest process started.
    boot_id: String,
}

/// This process and its predecessors.
#[derive(Debug)]
pub(super) struct ProcessLineage {
    path: PathBuf,
    incarnation: Incarnation,
    record: LineageRecord,
}

impl ProcessLineage {
    /// Begins a new incarnation in `state_dir`, whose lock this process holds. Persists the incarnation id
    /// before the orchestrator receives it, so that the next process can name it as a predecessor after a crash.
    pub(super) fn begin(state_dir: &Path) -> io::Result<Self> {
        let boot_id = fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned();
        Self::begin_in_boot(state_dir, &boot_id)
    }

    fn begin_in_boot(state_dir: &Path, boot_id: &str) -> io::Result<Self> {
        let path = state_dir.join("node.lineage");
        let metadata = fs::metadata(state_dir)?;
        let id = IncarnationId::generate();
        let earlier = read_record(&path);
        let is_same_place = earlier.as_ref().is_some_and(|earlier| earlier.inode == metadata.ino());
        let predecessors_ended = is_same_place
            && !boot_id.is_empty()
            && earlier.as_ref().is_some_and(|earlier| {
                earlier.device == metadata.dev() && earlier.boot_id == boot_id
            });
        if earlier.is_some() && !is_same_place {
            tracing::warn!("state directory is a copy; jobs of the original are ignored");
        }
        let succeeds = earlier.filter(|_| is_same_place).map(|earlier| earlier.incarnations);
        let mut succeeds = succeeds.unwrap_or_default();
        succeeds.truncate(MAX_INCARNATIONS - 1);
        let record = LineageRecord {
            incarnations: [id].into_iter().chain(succeeds.iter().copied()).collect(),
            inode: metadata.ino(),
            device: metadata.dev(),
            boot_id: boot_id.to_owned(),
        };
        durable_files::write_json(&path, &record)?;
        let incarnation = Incarnation { id, succeeds, predecessors_ended };
        Ok(Self { path, incarnation, record })
    }

    pub(super) fn incarnation(&self) -> &Incarnation {
        &self.incarnation
    }

    /// Records that the orchestrator accepted this process and reassigned its predecessors' jobs to it.
    pub(super) fn confirm(&self) -> io::Result<()> {
        let incarnations = vec![self.incarnation.id];
        durable_files::write_json(
            &self.path,
            &LineageRecord { incarnations, ..self.record.clone() },
        )
    }
}

/// Reads the record of an earlier process. `None` if it is unreadable: then nothing can be proved.
fn read_record(path: &Path) -> Option<LineageRecord> {
    let text = fs::read(path).ok()?;
    let record = serde_json::from_slice(&text);
    if let Err(error) = &record {
        tracing::warn!(path = %path.display(), %error, "lineage record unreadable, replacing it");
    }
    record.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_process_on_a_directory_succeeds_the_ones_the_orchestrator_may_know() {
        let state = tempfile::tempdir().unwrap();
        let begin = || ProcessLineage::begin_in_boot(state.path(), "boot").unwrap();
        let (first, second) = (begin(), begin());
        let [first, second] = [first.incarnation.id, second.incarnation.id];

        let third = begin();

        assert_eq!(third.incarnation.succeeds, [second, first]);
        assert!(third.incarnation.predecessors_ended);
        third.confirm().unwrap();
        assert_eq!(begin().incarnation.succeeds, [third.incarnation.id]);
    }

    #[test]
    fn a_process_in_a_copied_directory_has_no_predecessors() {
        let (state, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        ProcessLineage::begin_in_boot(state.path(), "boot").unwrap();
        fs::copy(state.path().join("node.lineage"), copy.path().join("node.lineage")).unwrap();

        let copied = ProcessLineage::begin_in_boot(copy.path(), "boot").unwrap().incarnation;

        assert_eq!((copied.succeeds, copied.predecessors_ended), (vec![], false));
    }

    #[test]
    fn after_a_reboot_the_end_of_the_predecessor_is_not_certain() {
        let state = tempfile::tempdir().unwrap();
        let first = ProcessLineage::begin_in_boot(state.path(), "boot").unwrap().incarnation;

        for boot in ["another boot", ""] {
            let next = ProcessLineage::begin_in_boot(state.path(), boot).unwrap().incarnation;
            assert!(next.succeeds.contains(&first.id) && !next.predecessors_ended);
        }
    }

    #[test]
    fn a_damaged_record_is_replaced_and_proves_nothing() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("node.lineage"), "").unwrap();

        let next = ProcessLineage::begin_in_boot(state.path(), "boot").unwrap().incarnation;

        assert_eq!((next.succeeds, next.predecessors_ended), (vec![], false));
    }
}
