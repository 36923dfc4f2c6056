//! Which process of the node this is, and which ones worked in its state directory before.
//!
//! The orchestrator lets one process work under a node's name. The next process on the same directory
//! takes over at once, because it can tell that the former has ended: it holds the directory's lock, and
//! the directory is the same one since the same boot. A copy of the directory is another one, so a
//! process that starts in a copy has no predecessors.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cynode_domain::ids::IncarnationId;
use cynode_wire::nodes::Incarnation;
use serde::{Deserialize, Serialize};

use crate::files;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How many processes are remembered that the orchestrator never confirmed.
const REMEMBERED: usize = 32;

/// The processes of one state directory: `node.lineage` in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The processes whose jobs may be here, newest first.
    incarnations: Vec<IncarnationId>,
    /// The directory's inode and device: a copy has others.
    inode: u64,
    device: u64,
    /// The boot of the machine at the start of the newest process.
    boot_id: String,
}

/// This process, and the ones before it.
#[derive(Debug)]
pub(super) struct Lineage {
    path: PathBuf,
    incarnation: Incarnation,
    record: Record,
}

impl Lineage {
    /// Begins a new incarnation in `state_dir`, whose lock this process holds. Its id is on disk before the
    /// orchestrator gets its id, so that the next process can name it as a predecessor after any crash.
    pub(super) fn begin(state_dir: &Path) -> io::Result<Self> {
        let boot_id = fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned();
        Self::begin_in_boot(state_dir, &boot_id)
    }

    fn begin_in_boot(state_dir: &Path, boot_id: &str) -> io::Result<Self> {
        let path = state_dir.join("node.lineage");
        let metadata = fs::metadata(state_dir)?;
        let id = IncarnationId::generate();
        let earlier = read(&path);
        let is_same_place = earlier.as_ref().is_some_and(|earlier| earlier.inode == metadata.ino());
        let predecessors_ended = is_same_place
            && !boot_id.is_empty()
            && earlier.as_ref().is_some_and(|earlier| {
                earlier.device == metadata.dev() && earlier.boot_id == boot_id
            });
        if earlier.is_some() && !is_same_place {
            tracing::warn!(
                "this state directory is a copy of another one: jobs of the other are left to it"
            );
        }
        let succeeds = earlier.filter(|_| is_same_place).map(|earlier| earlier.incarnations);
        let mut succeeds = succeeds.unwrap_or_default();
        succeeds.truncate(REMEMBERED - 1);
        let record = Record {
            incarnations: [id].into_iter().chain(succeeds.iter().copied()).collect(),
            inode: metadata.ino(),
            device: metadata.dev(),
            boot_id: boot_id.to_owned(),
        };
        files::write_json(&path, &record)?;
        let incarnation = Incarnation { id, succeeds, predecessors_ended };
        Ok(Self { path, incarnation, record })
    }

    /// This process, as it introduces itself.
    pub(super) fn incarnation(&self) -> &Incarnation {
        &self.incarnation
    }

    /// The orchestrator has accepted this process and given it all jobs of the earlier ones.
    pub(super) fn confirm(&self) -> io::Result<()> {
        let incarnations = vec![self.incarnation.id];
        files::write_json(&self.path, &Record { incarnations, ..self.record.clone() })
    }
}

/// What an earlier process wrote; nothing if that cannot be read, because then nothing is certain.
fn read(path: &Path) -> Option<Record> {
    let text = fs::read(path).ok()?;
    let record = serde_json::from_slice(&text);
    if let Err(error) = &record {
        tracing::warn!("{} cannot be read and is replaced: {error}", path.display());
    }
    record.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_process_on_a_directory_succeeds_the_ones_the_orchestrator_may_know() {
        let state = tempfile::tempdir().unwrap();
        let begin = || Lineage::begin_in_boot(state.path(), "boot").unwrap();
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
        Lineage::begin_in_boot(state.path(), "boot").unwrap();
        fs::copy(state.path().join("node.lineage"), copy.path().join("node.lineage")).unwrap();

        let copied = Lineage::begin_in_boot(copy.path(), "boot").unwrap().incarnation;

        assert_eq!((copied.succeeds, copied.predecessors_ended), (vec![], false));
    }

    #[test]
    fn after_a_reboot_the_end_of_the_predecessor_is_not_certain() {
        let state = tempfile::tempdir().unwrap();
        let first = Lineage::begin_in_boot(state.path(), "boot").unwrap().incarnation;

        for boot in ["another boot", ""] {
            let next = Lineage::begin_in_boot(state.path(), boot).unwrap().incarnation;
            assert!(next.succeeds.contains(&first.id) && !next.predecessors_ended);
        }
    }

    #[test]
    fn a_damaged_record_is_replaced_and_proves_nothing() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("node.lineage"), "").unwrap();

        let next = Lineage::begin_in_boot(state.path(), "boot").unwrap().incarnation;

        assert_eq!((next.succeeds, next.predecessors_ended), (vec![], false));
    }
}
