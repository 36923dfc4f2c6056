//! Documents as passages that can be searched.
//!
//! Start at [`chunk_document`], which splits a document into passages; [`index`] finds passages, and [`rank`] scores them.
//!
//! Invariants: no I/O, no clock, no model; the same input gives the same passages, order and scores on every machine.

mod chunk;
pub mod embed;
pub mod html;
pub mod index;
mod kind;
pub mod rank;
pub mod snippet;
pub mod words;

pub use chunk::{
    Chunk, ChunkError, MAX_PASSAGE_BYTES, MAX_PASSAGES, TARGET_PASSAGE_BYTES, chunk_document,
    content_hash,
};
pub use kind::{PathError, check_path, is_skipped_folder, kind_of_path};
