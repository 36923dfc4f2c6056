//! Verified reads: damaged content is never returned as complete.
//!
//! Small blobs are hashed before the first byte is returned. Large blobs are hashed while they stream, and
//! the last chunk is withheld until the hash matches: the reader of a damaged blob gets fewer bytes than the
//! declared length, and an error.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::{BlobError, BlobStore};

/// Blobs up to this size are verified before the first byte is returned.
const SMALL_BYTES: u64 = 1024 * 1024;
const PIECE_BYTES: usize = 64 * 1024;

/// The content of a blob. Ends with an error if the content is damaged.
pub type BlobContent = BoxStream<'static, io::Result<Bytes>>;

/// Expected hash and size of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedBlob {
    pub sha256: String,
    pub size_bytes: i64,
}

/// Called once with the result of the verification: `None`, or the fault.
pub type BlobVerdictCallback =
    Box<dyn FnOnce(Option<String>) -> futures_util::future::BoxFuture<'static, ()> + Send>;

impl BlobStore {
    /// Opens a blob. `verdict` receives the result of the verification; it is not called if the reader
    /// stops before the end.
    pub async fn open(
        &self,
        stored: ExpectedBlob,
        verdict: BlobVerdictCallback,
    ) -> Result<BlobContent, BlobError> {
        let damaged = |what: String| BlobError::Damaged { sha256: stored.sha256.clone(), what };
        let file = match File::open(self.blob_path(&stored.sha256)).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                verdict(Some("its file is missing".to_owned())).await;
                return Err(BlobError::Missing { sha256: stored.sha256 });
            }
            file => file?,
        };
        let (size, expected) = (file.metadata().await?.len(), stored.size_bytes);
        if i64::try_from(size) != Ok(expected) {
            let what = format!("it has {size} bytes instead of {expected}");
            verdict(Some(what.clone())).await;
            return Err(damaged(what));
        }
        if size > SMALL_BYTES {
            return Ok(stream_verified(file, stored, verdict));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(SMALL_BYTES + 1).read_to_end(&mut content).await?;
        if hex::encode(Sha256::digest(&content)) != stored.sha256 {
            let what = CONTENT_CHANGED.to_owned();
            verdict(Some(what.clone())).await;
            return Err(damaged(what));
        }
        verdict(None).await;
        Ok(stream::iter([Ok(Bytes::from(content))]).boxed())
    }
}

const CONTENT_CHANGED: &str = "its content was changed";

struct VerifiedBlobReader {
    file: File,
    hash: Sha256,
    stored: ExpectedBlob,
    verdict: BlobVerdictCallback,
    /// Read and hashed, but not yet returned.
    withheld: Option<Bytes>,
}

fn stream_verified(file: File, stored: ExpectedBlob, verdict: BlobVerdictCallback) -> BlobContent {
    let reading = VerifiedBlobReader { file, hash: Sha256::new(), stored, verdict, withheld: None };
    stream::unfold(Some(reading), |reading| next_chunk(reading).boxed()).boxed()
}

async fn next_chunk(
    reading: Option<VerifiedBlobReader>,
) -> Option<(io::Result<Bytes>, Option<VerifiedBlobReader>)> {
    let mut reading = reading?;
    loop {
        let mut chunk = BytesMut::with_capacity(PIECE_BYTES);
        match reading.file.read_buf(&mut chunk).await {
            Err(error) => return Some((Err(error), None)),
            Ok(0) => return finish_read(reading).await,
            Ok(_) => {
                reading.hash.update(&chunk);
                if let Some(ready) = reading.withheld.replace(chunk.freeze()) {
                    return Some((Ok(ready), Some(reading)));
                }
            }
        }
    }
}

/// Returns the withheld chunk if the hash of the whole content matches.
async fn finish_read(
    reading: VerifiedBlobReader,
) -> Option<(io::Result<Bytes>, Option<VerifiedBlobReader>)> {
    let VerifiedBlobReader { hash, stored, verdict, withheld: held, .. } = reading;
    if hex::encode(hash.finalize()) == stored.sha256 {
        verdict(None).await;
        return held.map(|last| (Ok(last), None));
    }
    verdict(Some(CONTENT_CHANGED.to_owned())).await;
    let error = io::Error::new(
        io::ErrorKind::InvalidData,
        format!("blob {}: {CONTENT_CHANGED}", stored.sha256),
    );
    Some((Err(error), None))
}
