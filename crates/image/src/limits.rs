//! Limits of images: an image is input of others, however it was built.

/// What one image may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackLimits {
    pub layers: usize,
    /// Bytes of a manifest, an index or the configuration.
    pub document_bytes: u64,
    /// Bytes of all layers as they are stored.
    pub stored_bytes: u64,
    /// Bytes of all layers after decompression.
    pub unpacked_bytes: u64,
    /// Entries of all layers.
    pub entries: u64,
    /// Bytes of the names of all entries.
    pub name_bytes: u64,
}

/// Bytes of one path, or of the target of a link.
pub(crate) const MAX_PATH_BYTES: usize = 4096;
/// Directories above an entry, after links are resolved. Each one is an open descriptor while the entry is written.
pub(crate) const MAX_DEPTH: usize = 128;
/// Bytes of the extended header of one entry.
pub(crate) const MAX_EXTENSION_BYTES: u64 = 1 << 20;

const GIB: u64 = 1 << 30;

impl Default for UnpackLimits {
    fn default() -> Self {
        Self {
            layers: 128,
            document_bytes: 4 << 20,
            stored_bytes: 16 * GIB,
            unpacked_bytes: 32 * GIB,
            entries: 1_000_000,
            name_bytes: 128 << 20,
        }
    }
}

/// Limits of a directory of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    pub image: UnpackLimits,
    /// Bytes of all images together.
    pub total_bytes: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { image: UnpackLimits::default(), total_bytes: 32 * GIB }
    }
}
