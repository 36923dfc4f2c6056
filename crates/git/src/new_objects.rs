//! The size of new objects, and the content of small ones.

use std::collections::BTreeMap;

use cynode_domain::git::CommitId;

use crate::broker::GitBroker;
use crate::command::{ChildInput, split_records};
use crate::error::GitError;
use crate::mirror::Mirror;

/// 41 bytes for each object.
const MAX_LISTING_BYTES: usize = 64 << 20;

/// Sizes of the objects that one commit has and another has not.
#[derive(Debug, Default)]
pub(crate) struct ObjectSizes {
    /// Of every object, uncompressed.
    pub(crate) total: u64,
    /// Blobs by id.
    pub(crate) blobs: BTreeMap<String, u64>,
}

impl GitBroker {
    /// Measures the objects of `head` that `base` does not have.
    pub(crate) async fn measure_objects(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<ObjectSizes, GitError> {
        let ids = self
            .mirror_command(mirror, "rev-list")
            .args(["--objects", "--no-object-names", head.as_str(), &format!("^{base}")])
            .read(MAX_LISTING_BYTES)
            .await?;
        let mut sizes = ObjectSizes::default();
        let mut sink = split_records(b'\n', |record| {
            let line = String::from_utf8_lossy(record);
            let mut fields = line.split(' ');
            if let (Some(id), Some(kind), Some(size)) =
                (fields.next(), fields.next(), fields.next())
            {
                let size = size.parse().unwrap_or(0);
                sizes.total = sizes.total.saturating_add(size);
                if kind == "blob" {
                    sizes.blobs.insert(id.to_owned(), size);
                }
            }
            Ok(())
        });
        self.mirror_command(mirror, "cat-file")
            .arg("--batch-check=%(objectname) %(objecttype) %(objectsize)")
            .input(ChildInput::Bytes(ids))
            .run_with(&mut sink)
            .await?;
        drop(sink);
        Ok(sizes)
    }

    /// The content of a blob of at most `limit` bytes.
    pub(crate) async fn read_blob(
        &self,
        mirror: &Mirror,
        object: &str,
        limit: usize,
    ) -> Result<Vec<u8>, GitError> {
        self.mirror_command(mirror, "cat-file").args(["blob", object]).read(limit).await
    }
}
