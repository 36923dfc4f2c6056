//! Readers that count and hash what passes through them.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};

use crate::digest::Sha256Digest;
use crate::error::ImageError;

const DRAIN_BYTES: usize = 64 * 1024;

/// Hashes and counts everything that is read, and fails after `limit` bytes.
pub(crate) struct HashingReader<R> {
    inner: R,
    hasher: Sha256,
    read: u64,
    limit: u64,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Self { inner, hasher: Sha256::new(), read: 0, limit }
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Reads to the end and returns the digest and the size of everything.
    pub(crate) fn finish(mut self) -> io::Result<(Sha256Digest, u64)> {
        let mut buffer = vec![0; DRAIN_BYTES];
        while self.read(&mut buffer)? > 0 {}
        Ok((Sha256Digest::from_hasher(self.hasher), self.read))
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if self.read > self.limit {
            return Err(LimitReached { limit: self.limit }.into());
        }
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

/// The cause of an [`io::Error`]: more bytes than allowed.
#[derive(Debug, thiserror::Error)]
#[error("more than {limit} bytes")]
pub(crate) struct LimitReached {
    limit: u64,
}

impl From<LimitReached> for io::Error {
    fn from(reached: LimitReached) -> Self {
        Self::other(reached)
    }
}

/// Ends unpacking early.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> Result<(), ImageError> {
        if self.0.load(Ordering::Relaxed) { Err(ImageError::Canceled) } else { Ok(()) }
    }
}

/// Fails once the flag is set.
pub(crate) struct CancelableReader<R> {
    pub(crate) inner: R,
    pub(crate) flag: CancelFlag,
}

impl<R: Read> Read for CancelableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.flag.check().map_err(io::Error::other)?;
        self.inner.read(buffer)
    }
}
