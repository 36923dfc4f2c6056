//! A layer as a stream: stored bytes, decompressed bytes, entries; each verified and bounded.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::digest::Sha256Digest;
use crate::error::ImageError;
use crate::verified_reader::{CancelFlag, CancelableReader, HashingReader};

const BUFFER_BYTES: usize = 64 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What a layer must be.
#[derive(Debug, Clone)]
pub(crate) struct LayerClaim {
    /// How errors name the layer.
    pub(crate) name: String,
    /// Digest of the stored bytes; absent where only the decompressed ones have one.
    pub(crate) stored: Option<Sha256Digest>,
    pub(crate) stored_size: u64,
    /// Digest after decompression.
    pub(crate) unpacked: Sha256Digest,
}

type StoredBytes = BufReader<HashingReader<CancelableReader<Box<dyn Read>>>>;

/// Reads a layer with `consume`, then verifies everything that was read and the rest. Returns the decompressed size.
pub(crate) fn read_layer(
    blob: Box<dyn Read>,
    claim: &LayerClaim,
    max_unpacked: u64,
    flag: &CancelFlag,
    consume: impl FnOnce(&mut dyn Read) -> Result<(), ImageError>,
) -> Result<u64, ImageError> {
    let inner = CancelableReader { inner: blob, flag: flag.clone() };
    let stored = HashingReader::new(inner, claim.stored_size);
    let mut stored: StoredBytes = BufReader::with_capacity(BUFFER_BYTES, stored);
    let failed = |cause: io::Error| match flag.check() {
        Err(canceled) => canceled,
        Ok(()) => ImageError::invalid(claim.name.clone(), cause),
    };
    let (unpacked, size) = {
        let decompressed = Decompressor::new(&mut stored).map_err(failed)?;
        let mut decompressed = HashingReader::new(decompressed, max_unpacked);
        let consumed = consume(&mut decompressed);
        if decompressed.bytes_read() > max_unpacked {
            let what = format!("{}, decompressed,", claim.name);
            return Err(ImageError::Limit { what, limit: max_unpacked });
        }
        consumed?;
        decompressed.finish().map_err(failed)?
    };
    io::copy(&mut stored, &mut io::sink()).map_err(failed)?;
    let (digest, stored_size) = stored.into_inner().finish().map_err(failed)?;
    if stored_size != claim.stored_size {
        let (expected, found) = (claim.stored_size, stored_size);
        return Err(mismatch(claim, format!("{expected} bytes"), format!("{found} bytes")));
    }
    if let Some(expected) = claim.stored.filter(|expected| *expected != digest) {
        return Err(mismatch(claim, expected.to_string(), digest.to_string()));
    }
    if unpacked != claim.unpacked {
        return Err(mismatch(claim, claim.unpacked.to_string(), unpacked.to_string()));
    }
    Ok(size)
}

fn mismatch(claim: &LayerClaim, expected: String, found: String) -> ImageError {
    ImageError::Digest { what: claim.name.clone(), expected, found }
}

/// Decompresses by content: the digests decide whether it is what the manifest means.
enum Decompressor<'a> {
    Plain(&'a mut StoredBytes),
    Gzip(Box<MultiGzDecoder<&'a mut StoredBytes>>),
    Zstd(Box<ZstdFrames<'a>>),
}

impl<'a> Decompressor<'a> {
    fn new(stored: &'a mut StoredBytes) -> io::Result<Self> {
        let start = stored.fill_buf()?;
        if start.starts_with(&GZIP_MAGIC) {
            return Ok(Self::Gzip(Box::new(MultiGzDecoder::new(stored))));
        }
        if start.starts_with(&ZSTD_MAGIC) {
            let decoder = FrameDecoder::new();
            return Ok(Self::Zstd(Box::new(ZstdFrames { stored, decoder, has_frame: false })));
        }
        Ok(Self::Plain(stored))
    }
}

impl Read for Decompressor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stored) => stored.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(frames) => frames.read(buffer),
        }
    }
}

/// Consecutive zstd frames; skippable ones are skipped.
struct ZstdFrames<'a> {
    stored: &'a mut StoredBytes,
    decoder: FrameDecoder,
    has_frame: bool,
}

impl ZstdFrames<'_> {
    /// Starts the next frame; false at the end.
    fn start_frame(&mut self) -> io::Result<bool> {
        while !self.stored.fill_buf()?.is_empty() {
            match self.decoder.init(&mut *self.stored) {
                Ok(()) => {
                    self.has_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.stored.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl Read for ZstdFrames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.has_frame || self.start_frame()? {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.has_frame = false;
            } else {
                let one_block = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut *self.stored, one_block);
                decoded.map_err(io::Error::other)?;
            }
        }
        Ok(0)
    }
}
