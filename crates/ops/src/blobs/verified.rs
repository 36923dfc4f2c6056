//! Reading blobs so that changed content is never taken for what was stored.
//!
//! What is small is read and hashed before its first byte is given out. What is large is hashed while it
//! is given out, and its last piece is held back until the hash is right: a reader of a damaged blob gets
//! less than was promised, and an error.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::{BlobError, Blobs};

/// What is read and hashed before its first byte is given out.
const SMALL_BYTES: u64 = 1024 * 1024;
const PIECE_BYTES: usize = 64 * 1024;

/// The content of a blob. It ends with an error where it is not what was stored.
pub type BlobContent = BoxStream<'static, io::Result<Bytes>>;

/// What was stored under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) sha256: String,
    pub(crate) size_bytes: i64,
}

/// Told once whether a blob is what was stored.
pub(crate) type Verdict =
    Box<dyn FnOnce(Option<String>) -> futures_util::future::BoxFuture<'static, ()> + Send>;

impl Blobs {
    /// Opens a blob. `verdict` is told whether it is what was stored: nothing, or what is wrong with it.
    /// It is not told where a reader goes away before the end.
    pub(crate) async fn open(
        &self,
        stored: Stored,
        verdict: Verdict,
    ) -> Result<BlobContent, BlobError> {
        let damaged = |what: String| BlobError::Damaged { sha256: stored.sha256.clone(), what };
        let file = match File::open(self.place(&stored.sha256)).await {
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
            return Ok(checked_on_the_way(file, stored, verdict));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(SMALL_BYTES + 1).read_to_end(&mut content).await?;
        if hex::encode(Sha256::digest(&content)) != stored.sha256 {
            let what = CHANGED.to_owned();
            verdict(Some(what.clone())).await;
            return Err(damaged(what));
        }
        verdict(None).await;
        Ok(stream::iter([Ok(Bytes::from(content))]).boxed())
    }
}

const CHANGED: &str = "its content was changed";

struct Reading {
    file: File,
    hash: Sha256,
    stored: Stored,
    verdict: Verdict,
    /// Read and hashed, and not given out yet.
    held: Option<Bytes>,
}

fn checked_on_the_way(file: File, stored: Stored, verdict: Verdict) -> BlobContent {
    let reading = Reading { file, hash: Sha256::new(), stored, verdict, held: None };
    stream::unfold(Some(reading), |reading| next(reading).boxed()).boxed()
}

async fn next(reading: Option<Reading>) -> Option<(io::Result<Bytes>, Option<Reading>)> {
    let mut reading = reading?;
    loop {
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        match reading.file.read_buf(&mut piece).await {
            Err(error) => return Some((Err(error), None)),
            Ok(0) => return finish(reading).await,
            Ok(_) => {
                reading.hash.update(&piece);
                if let Some(ready) = reading.held.replace(piece.freeze()) {
                    return Some((Ok(ready), Some(reading)));
                }
            }
        }
    }
}

/// Gives the last piece out if all of them together are what was stored.
async fn finish(reading: Reading) -> Option<(io::Result<Bytes>, Option<Reading>)> {
    let Reading { hash, stored, verdict, held, .. } = reading;
    if hex::encode(hash.finalize()) == stored.sha256 {
        verdict(None).await;
        return held.map(|last| (Ok(last), None));
    }
    verdict(Some(CHANGED.to_owned())).await;
    let error =
        io::Error::new(io::ErrorKind::InvalidData, format!("blob {}: {CHANGED}", stored.sha256));
    Some((Err(error), None))
}
