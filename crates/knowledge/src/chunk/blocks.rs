//! Paragraphs: lines between blank lines.

use super::{Block, Section};

/// The paragraphs of a plain text.
pub(super) fn paragraphs(content: &str) -> Section {
    let mut collector = BlockCollector::default();
    for (number, line) in (1..).zip(content.lines()) {
        collector.add(number, line);
    }
    Section { heading: String::new(), blocks: collector.finish() }
}

/// Collects lines into blocks that end at blank lines.
#[derive(Debug, Default)]
pub(super) struct BlockCollector {
    blocks: Vec<Block>,
    open: Option<Block>,
}

impl BlockCollector {
    pub(super) fn add(&mut self, number: u32, line: &str) {
        if line.trim().is_empty() { self.close() } else { self.add_verbatim(number, line) }
    }

    /// Adds a line that does not end a block, even if it is blank.
    pub(super) fn add_verbatim(&mut self, number: u32, line: &str) {
        let block = self.open.get_or_insert_with(|| Block {
            first_line: number,
            lines: vec![],
            heading: None,
        });
        block.lines.push(line.trim_end().to_owned());
    }

    pub(super) fn close(&mut self) {
        self.blocks.extend(self.open.take());
    }

    pub(super) fn finish(mut self) -> Vec<Block> {
        self.close();
        self.blocks
    }
}
