//! Source code: blocks begin at definitions of the outermost level, with the comments and attributes before them, and end
//! at blank lines where a definition is too long for one passage.

use super::blocks::BlockCollector;
use super::{Block, ChunkError, MAX_PASSAGE_BYTES, Section, shorten_heading};

pub(super) fn sections(content: &str) -> Result<Vec<Section>, ChunkError> {
    let mut collector = BlockCollector::default();
    // Whether the open block only has comments and attributes so far.
    let (mut is_preamble, mut was_blank) = (true, true);
    for (number, line) in (1..).zip(content.lines()) {
        if line.len() > MAX_PASSAGE_BYTES {
            return Err(ChunkError::LongLine(number));
        }
        if line.trim().is_empty() {
            collector.close();
            (is_preamble, was_blank) = (true, true);
            continue;
        }
        let is_lead = is_lead_line(line);
        if !was_blank && !is_preamble && (is_definition(line) || is_outermost_lead(line, is_lead)) {
            collector.close();
            is_preamble = true;
        }
        is_preamble &= is_lead;
        was_blank = false;
        collector.add(number, line);
    }
    let blocks = collector.finish().into_iter().map(with_heading).collect();
    Ok(vec![Section { heading: String::new(), blocks }])
}

fn with_heading(mut block: Block) -> Block {
    let defining = block.lines.iter().find(|line| is_definition(line));
    block.heading = defining
        .map(|line| shorten_heading(line.trim().trim_end_matches(['{', ':', '(', '=', ' '])));
    block
}

fn is_outermost_lead(line: &str, is_lead: bool) -> bool {
    is_lead && !line.starts_with([' ', '\t'])
}

/// Comments, attributes and decorators, which belong to what follows.
fn is_lead_line(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "--", "@", ";", "\"\"\""].iter().any(|mark| line.starts_with(mark))
}

/// Whether a line begins a definition of the outermost level, in the usual languages.
fn is_definition(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "fn",
        "struct",
        "enum",
        "trait",
        "impl",
        "mod",
        "macro_rules!",
        "const",
        "static",
        "type",
        "def",
        "class",
        "async",
        "function",
        "interface",
        "export",
        "func",
        "var",
        "let",
        "pub",
        "public",
        "private",
        "protected",
        "abstract",
        "final",
        "namespace",
        "module",
        "package",
        "CREATE",
        "create",
        "ALTER",
        "resource",
        "data",
        "object",
        "record",
        "union",
        "extern",
    ];
    let first: &str = line.split([' ', '(', '<', '\t']).next().unwrap_or_default();
    WORDS.contains(&first) || line.starts_with("pub(")
}
