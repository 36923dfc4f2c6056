//! OCI images for sandboxes: read, verified and unpacked by the node itself, without a daemon (ADR 44).
//!
//! Start at [`ImageStore::acquire`], which turns an [`ImageSource`] into an unpacked, read-only [`UnpackedImage`].
//!
//! Invariants:
//! - Every byte that is unpacked was covered by a digest; an image whose digest or size differs is rejected.
//! - No entry of a layer changes anything outside of the directory that is unpacked to: no link is followed out of it.
//! - A directory with the name of a digest is complete and is not changed until it is removed.

mod apply_layer;
mod archive_index;
mod blobs;
mod digest;
mod error;
mod layer_stream;
mod limits;
mod local_image;
mod manifest;
mod registry;
mod root_tree;
mod source;
mod store;
mod tar_entries;
mod unpack;
mod verified_reader;

pub use digest::Sha256Digest;
pub use error::ImageError;
pub use limits::{StoreLimits, UnpackLimits};
pub use source::{ImageSource, InvalidImageSource, RegistryReference};
pub use store::{ImageStore, ImageUse, UnpackedImage};
