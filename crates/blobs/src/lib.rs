//! Content-addressed files on disk that back artifacts and attachments.
//!
//! Content is staged first: written to a temporary file, named after its hash, and synced ([`BlobStore::stage`]). The
//! transaction that adds the row of the file renames it to its final name ([`StagedBlob::place`]), so that content without a
//! row is never stored. A crash leaves the whole blob, or a temporary file; [`BlobCollector`] restores or removes it.

mod collect;
mod verified;

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::ArtifactId;
use futures_util::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use tokio::fs;
use tokio::io::AsyncWriteExt;

pub use self::collect::{BLOBS_TABLE, BlobCollector, CollectError, CollectedBlobs};
pub use self::verified::BlobContent;
pub use self::verified::{BlobVerdictCallback, ExpectedBlob};

/// Directory of incomplete uploads.
const INCOMING: &str = "incoming";
const PROBE_BYTES: usize = 8 * 1024;

/// Errors of storing and reading content.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("content is longer than {max_bytes} bytes")]
    TooLarge { max_bytes: u64 },
    #[error("the upload was cut off")]
    UploadInterrupted,
    /// A row refers to the content, but its file does not exist.
    #[error(
        "the content is missing: blob {sha256} is not in the directory of blobs; \
         restore it from a backup or attach the file to a new task"
    )]
    Missing { sha256: String },
    /// Size or hash differ from the stored row.
    #[error(
        "the stored content {sha256} is damaged: {what}. Restore it from a backup, or store the file again"
    )]
    Damaged { sha256: String, what: String },
    #[error("could not access the file system")]
    Io(#[from] io::Error),
}

impl Classified for BlobError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::TooLarge { .. } => Classification::new(ErrorClass::TooLarge, self),
            Self::UploadInterrupted => Classification::new(ErrorClass::Invalid, self),
            Self::Missing { .. } => Classification::new(ErrorClass::NotFound, self),
            Self::Damaged { .. } => Classification::new(ErrorClass::Internal, self),
            Self::Io(_) => Classification::internal(),
        }
    }
}

/// Durable content that has no final name yet. Dropping it removes it.
#[derive(Debug)]
pub struct StagedBlob {
    /// Hex.
    pub sha256: String,
    pub size_bytes: i64,
    temporary: TempBlobFile,
    path: PathBuf,
}

impl StagedBlob {
    /// The group of the blob, whose lock the calling transaction shares.
    pub fn group(&self) -> &str {
        group_of(&self.sha256)
    }

    /// Gives the content its final name; damaged content of the same hash is replaced. Blocks for one system call only, so
    /// that a transaction can call it; [`BlobStore::sync`] makes the name durable after the commit.
    pub fn place(&self) -> Result<(), BlobError> {
        match std::fs::rename(&self.temporary.0, &self.path) {
            // A collector found that the content was missing, and used this file.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.path.exists() => Ok(()),
            renamed => Ok(renamed?),
        }
    }
}

/// A temporary file that is removed on drop unless it was renamed, also when the upload is canceled.
#[derive(Debug)]
struct TempBlobFile(PathBuf);

impl Drop for TempBlobFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The directory of all blobs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BlobStore {
    directory: PathBuf,
}

impl BlobStore {
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Stages the whole stream; fails beyond `max_bytes`.
    pub async fn stage<E>(
        &self,
        content: impl Stream<Item = Result<Bytes, E>>,
        max_bytes: u64,
    ) -> Result<StagedBlob, BlobError> {
        let incoming = self.incoming();
        create_private_dir(&incoming).await?;
        let id = ArtifactId::generate();
        let mut temporary = TempBlobFile(incoming.join(id.to_string()));
        let (sha256, size) = write_synced(&temporary.0, content, max_bytes).await?;
        let path = self.blob_path(&sha256);
        create_private_dir(path.parent().unwrap_or(&self.directory)).await?;
        // The name tells a collector after a crash which content the file holds.
        let named = incoming.join(staged_name(&sha256, id));
        fs::rename(&temporary.0, &named).await?;
        temporary.0 = named;
        sync_directory(&incoming).await?;
        let size_bytes = i64::try_from(size).unwrap_or(i64::MAX);
        Ok(StagedBlob { sha256, size_bytes, temporary, path })
    }

    /// Makes the final name of a placed blob durable: after a power failure, it would be a staged file again until a
    /// collector restores it.
    pub async fn sync(&self, sha256: &str) -> Result<(), BlobError> {
        let path = self.blob_path(sha256);
        Ok(sync_directory(path.parent().unwrap_or(&self.directory)).await?)
    }

    /// Fails if content cannot be stored.
    pub async fn probe(&self) -> Result<(), BlobError> {
        let incoming = self.incoming();
        create_private_dir(&incoming).await?;
        let temporary = TempBlobFile(incoming.join(ArtifactId::generate().to_string()));
        let mut file = fs::File::create_new(&temporary.0).await?;
        file.write_all(&[0; PROBE_BYTES]).await?;
        file.flush().await?;
        Ok(())
    }

    /// Whether no blob is stored.
    pub async fn is_empty(&self) -> io::Result<bool> {
        let mut groups = match fs::read_dir(&self.directory).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            groups => groups?,
        };
        while let Some(group) = groups.next_entry().await? {
            if group.file_name() != INCOMING
                && group.file_type().await?.is_dir()
                && fs::read_dir(group.path()).await?.next_entry().await?.is_some()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn incoming(&self) -> PathBuf {
        self.directory.join(INCOMING)
    }

    fn blob_path(&self, sha256: &str) -> PathBuf {
        let (first_two, rest) = sha256.split_at(sha256.len().min(2));
        self.directory.join(first_two).join(rest)
    }
}

/// The directory of a blob.
fn group_of(sha256: &str) -> &str {
    sha256.get(..2).unwrap_or(sha256)
}

/// The name of a file in the directory of incomplete uploads whose content is known.
fn staged_name(sha256: &str, id: ArtifactId) -> String {
    format!("{sha256}-{id}")
}

/// Writes the whole stream to a new file and syncs it. Returns its hash and size.
async fn write_synced<E>(
    path: &Path,
    content: impl Stream<Item = Result<Bytes, E>>,
    max_bytes: u64,
) -> Result<(String, u64), BlobError> {
    let mut content = std::pin::pin!(content);
    let mut file = fs::File::create_new(path).await?;
    let (mut hash, mut size) = (Sha256::new(), 0_u64);
    while let Some(chunk) = content.next().await {
        let chunk = chunk.map_err(|_| BlobError::UploadInterrupted)?;
        size += chunk.len() as u64;
        if size > max_bytes {
            return Err(BlobError::TooLarge { max_bytes });
        }
        hash.update(&chunk);
        file.write_all(&chunk).await?;
    }
    file.flush().await?;
    file.sync_all().await?;
    Ok((hex::encode(hash.finalize()), size))
}

/// Makes the names in a directory durable.
async fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(path).await?.sync_all().await
}

/// Creates a directory with mode 0700: attachments and artifacts are private to the service user,
/// wherever the data directory is.
async fn create_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).await
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::os::unix::fs::PermissionsExt as _;

    use futures_util::{TryStreamExt as _, stream};

    use super::*;

    fn pieces(chunks: &[&'static str]) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::iter(chunks.iter().map(|chunk| Ok(Bytes::from(*chunk))).collect::<Vec<_>>())
    }

    /// Stores content without a row.
    async fn put(blobs: &BlobStore, chunks: &[&'static str]) -> StagedBlob {
        let staged = blobs.stage(pieces(chunks), 10 * 1024 * 1024).await.unwrap();
        staged.place().unwrap();
        staged
    }

    #[tokio::test]
    async fn content_is_found_by_its_hash() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().to_owned());

        let blob = put(&blobs, &["hel", "lo"]).await;

        let (text, verdict) = read(&blobs, &blob).await;
        assert_eq!((text.unwrap().as_str(), blob.size_bytes), ("hello", 5));
        assert_eq!(verdict, Some(None));
    }

    /// Reads a blob; also returns the verdict, if one was reported.
    async fn read(
        blobs: &BlobStore,
        blob: &StagedBlob,
    ) -> (Result<String, String>, Option<Option<String>>) {
        let said = std::sync::Arc::new(std::sync::Mutex::new(None));
        let says = std::sync::Arc::clone(&said);
        let verdict: BlobVerdictCallback =
            Box::new(move |fault| Box::pin(async move { *says.lock().unwrap() = Some(fault) }));
        let stored = ExpectedBlob { sha256: blob.sha256.clone(), size_bytes: blob.size_bytes };
        let text = match blobs.open(stored, verdict).await {
            Ok(content) => {
                let all = content.try_fold(vec![], async |mut all, chunk| {
                    all.extend(chunk);
                    Ok(all)
                });
                all.await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        let said = said.lock().unwrap().clone();
        (text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), said)
    }

    #[tokio::test]
    async fn damaged_content_is_never_given_out_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().to_owned());
        let long: &'static str = Box::leak("x".repeat(3 * 1024 * 1024).into_boxed_str());
        for content in ["hello", long] {
            let blob = put(&blobs, &[content]).await;
            let file = blobs.blob_path(&blob.sha256);
            let mut changed = content.as_bytes().to_vec();
            *changed.last_mut().unwrap() ^= 1;
            for (damage, what) in [
                (Some(changed.as_slice()), "changed"),
                (Some(&b"he"[..]), "instead of"),
                (None, "missing"),
            ] {
                match damage {
                    Some(damage) => std::fs::write(&file, damage).unwrap(),
                    None => std::fs::remove_file(&file).unwrap(),
                }

                let (refused, verdict) = read(&blobs, &blob).await;

                assert!(refused.as_ref().is_err_and(|text| text.contains(what)), "{what}");
                assert!(verdict.flatten().is_some_and(|fault| fault.contains(what)), "{what}");
            }
        }
    }

    #[tokio::test]
    async fn content_is_out_of_reach_of_other_users_of_the_machine() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("blobs");

        let blob = put(&BlobStore::new(root.clone()), &["secret"]).await;

        for path in [root.clone(), root.join(&blob.sha256[..2])] {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{}", path.display());
        }
    }

    #[tokio::test]
    async fn content_that_is_too_long_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().to_owned());

        let refused = blobs.stage(pieces(&["hello", "world"]), 7).await;

        assert!(matches!(refused, Err(BlobError::TooLarge { max_bytes: 7 })));
        let left = std::fs::read_dir(directory.path().join("incoming")).unwrap().count();
        assert_eq!(left, 0);
    }

    #[tokio::test]
    async fn content_that_is_not_placed_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().to_owned());

        let staged = blobs.stage(pieces(&["hello"]), 7).await.unwrap();
        drop(staged);

        let left = std::fs::read_dir(directory.path().join("incoming")).unwrap().count();
        assert_eq!((left, blobs.is_empty().await.unwrap()), (0, true));
    }

    #[tokio::test]
    async fn content_that_a_collector_used_for_a_repair_counts_as_placed() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().to_owned());
        let staged = blobs.stage(pieces(&["hello"]), 7).await.unwrap();
        std::fs::rename(&staged.temporary.0, blobs.blob_path(&staged.sha256)).unwrap();

        staged.place().unwrap();

        assert_eq!(read(&blobs, &staged).await.0.unwrap(), "hello");
    }
}
