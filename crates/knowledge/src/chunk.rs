//! Splits documents into passages that can answer a question without the rest of the document.
//!
//! Start at [`chunk_document`]. Markdown is split at headings, code between definitions and at blank lines, other text at
//! paragraphs. No passage begins or ends in the middle of a line, except of a prose line that alone is longer than a passage.
//!
//! Invariant: every line with visible text is in exactly one passage, in order; a passage has at most [`MAX_PASSAGE_BYTES`].

mod blocks;
mod code;
mod markdown;
mod pack;

use cynode_domain::knowledge::{DocumentKind, MAX_DOCUMENT_BYTES};
use cynode_domain::text::truncate_chars;
use cynode_domain::visible_text::strip_invisible;
use sha2::{Digest as _, Sha256};

use crate::html::read_page;

/// Passages are filled up to this size.
pub const TARGET_PASSAGE_BYTES: usize = 1000;
/// The largest passage.
pub const MAX_PASSAGE_BYTES: usize = 2400;
/// The most passages of a document.
pub const MAX_PASSAGES: usize = 4000;
const MAX_HEADING_CHARS: usize = 200;

/// A passage of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its number in the document, from 0.
    pub ordinal: u32,
    /// The headings above it, outermost first, joined by ` > `; for code the definition that it begins with.
    pub heading: String,
    /// From 1. Of an HTML document: the line of its text.
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
}

/// Why a document is not ingested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("it has more than {MAX_DOCUMENT_BYTES} bytes; split it into smaller documents")]
    TooLarge,
    #[error("it has more than {MAX_PASSAGES} passages; split it into smaller documents")]
    TooManyPassages,
    #[error("it is not text; convert it to text first")]
    Binary,
    #[error("PDF is not read; convert it first, for example with `pdftotext FILE.pdf FILE.txt`")]
    Pdf,
    #[error("line {0} is longer than a passage; this looks like a generated file")]
    LongLine(u32),
    #[error("it has no text")]
    Empty,
}

/// Splits a document into passages, without invisible characters.
pub fn chunk_document(kind: DocumentKind, content: &str) -> Result<Vec<Chunk>, ChunkError> {
    if content.len() > MAX_DOCUMENT_BYTES {
        return Err(ChunkError::TooLarge);
    }
    if content.contains('\0') {
        return Err(ChunkError::Binary);
    }
    let sections = match kind {
        DocumentKind::Markdown => markdown::sections(&strip_invisible(content)),
        DocumentKind::Html => {
            markdown::sections(&read_page(content, MAX_DOCUMENT_BYTES, true).text)
        }
        DocumentKind::Code => code::sections(&strip_invisible(content))?,
        DocumentKind::Text => vec![blocks::paragraphs(&strip_invisible(content))],
        DocumentKind::Pdf => return Err(ChunkError::Pdf),
    };
    let chunks = pack::pack(sections);
    match chunks.len() {
        0 => Err(ChunkError::Empty),
        1..=MAX_PASSAGES => Ok(chunks),
        _ => Err(ChunkError::TooManyPassages),
    }
}

/// The hash that decides whether a document is unchanged.
pub fn content_hash(content: &str) -> String {
    hex::encode(Sha256::digest(content.as_bytes()))
}

/// A piece of a document that is kept together if it fits.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    first_line: u32,
    lines: Vec<String>,
    /// Overrides the heading of its section.
    heading: Option<String>,
}

/// Blocks under one heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    heading: String,
    blocks: Vec<Block>,
}

impl Block {
    fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 1).sum()
    }
}

fn shorten_heading(heading: &str) -> String {
    truncate_chars(heading, MAX_HEADING_CHARS).to_owned()
}

#[cfg(test)]
mod tests;
