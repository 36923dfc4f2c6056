//! Fills passages with blocks of one section.

use cynode_domain::text::truncate_bytes;

use super::{Block, Chunk, MAX_PASSAGE_BYTES, Section, TARGET_PASSAGE_BYTES};

/// Blocks that are further apart are in different passages.
const MAX_GAP_LINES: u32 = 8;

pub(super) fn pack(sections: Vec<Section>) -> Vec<Chunk> {
    let mut packer = Packer::default();
    for section in sections {
        for block in section.blocks {
            for part in split_long_block(block) {
                packer.add(&section.heading, part);
            }
        }
        packer.close();
    }
    packer.chunks
}

#[derive(Default)]
struct Packer {
    chunks: Vec<Chunk>,
    open: Option<Chunk>,
}

impl Packer {
    fn add(&mut self, heading: &str, block: Block) {
        let is_full = self.open.as_ref().is_some_and(|open| {
            block.first_line > open.last_line.saturating_add(MAX_GAP_LINES)
                || open.text.len() + block.bytes() > TARGET_PASSAGE_BYTES
                || (block.heading.is_some() && open.text.len() > TARGET_PASSAGE_BYTES / 2)
        });
        if is_full {
            self.close();
        }
        let last_line = block.first_line + line_count(&block.lines) - 1;
        let text = block.lines.join("\n");
        match &mut self.open {
            Some(open) => {
                // Blank lines between blocks are kept, so that lines can be counted in the passage.
                let blank = block.first_line.saturating_sub(open.last_line).max(1);
                open.text.extend((0..blank).map(|_| '\n'));
                open.text.push_str(&text);
                open.last_line = last_line;
                if open.heading.is_empty() {
                    open.heading = block.heading.unwrap_or_default();
                }
            }
            None => {
                self.open = Some(Chunk {
                    ordinal: 0,
                    heading: block.heading.unwrap_or_else(|| heading.to_owned()),
                    first_line: block.first_line,
                    last_line,
                    text,
                });
            }
        }
    }

    fn close(&mut self) {
        if let Some(mut chunk) = self.open.take().filter(|chunk| !chunk.text.trim().is_empty()) {
            chunk.ordinal = u32::try_from(self.chunks.len()).unwrap_or(u32::MAX);
            self.chunks.push(chunk);
        }
    }
}

fn line_count(lines: &[String]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX).max(1)
}

/// Splits a block that is larger than a passage: between lines, or between words of a line that alone is too long.
fn split_long_block(block: Block) -> Vec<Block> {
    if block.bytes() <= MAX_PASSAGE_BYTES {
        return vec![block];
    }
    let Block { first_line, lines, heading } = block;
    let mut parts: Vec<Block> = vec![];
    for (number, line) in (first_line..).zip(lines) {
        for piece in split_long_line(&line) {
            match parts.last_mut() {
                Some(part)
                    if part.bytes() + piece.len() < TARGET_PASSAGE_BYTES
                        && part.first_line + line_count(&part.lines) == number =>
                {
                    part.lines.push(piece);
                }
                _ => parts.push(Block {
                    first_line: number,
                    lines: vec![piece],
                    heading: heading.clone(),
                }),
            }
        }
    }
    parts
}

fn split_long_line(line: &str) -> Vec<String> {
    let mut pieces = vec![];
    let mut rest = line;
    while rest.len() > TARGET_PASSAGE_BYTES {
        let fitting = truncate_bytes(rest, TARGET_PASSAGE_BYTES);
        let end = fitting.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(fitting.len());
        pieces.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    pieces.push(rest.to_owned());
    pieces
}
