//! Markdown: sections by headings. A heading in a fenced block is not one.

use super::blocks::BlockCollector;
use super::{Section, shorten_heading};

/// The sections of a document, in order.
pub(super) fn sections(content: &str) -> Vec<Section> {
    let mut found = vec![];
    let mut path: Vec<(usize, String)> = vec![];
    let mut collector = BlockCollector::default();
    let mut fence: Option<&str> = None;
    let mut finish = |collector: &mut BlockCollector, path: &[(usize, String)]| {
        let blocks = std::mem::take(collector).finish();
        if !blocks.is_empty() {
            found.push(Section { heading: heading_path(path), blocks });
        }
    };
    for (number, line) in (1..).zip(content.lines()) {
        let trimmed = line.trim_start();
        if let Some(mark) = fence {
            collector.add_verbatim(number, line);
            if trimmed.starts_with(mark)
                && trimmed.trim_end().trim_start_matches(['`', '~']).is_empty()
            {
                fence = None;
            }
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if fence.is_some() {
            collector.add_verbatim(number, line);
        } else if let Some((level, title)) = heading(line) {
            finish(&mut collector, &path);
            path.retain(|(above, _)| *above < level);
            path.push((level, title.to_owned()));
            // The words of a heading are found even if no text follows it.
            collector.add(number, line);
        } else {
            collector.add(number, line);
        }
    }
    finish(&mut collector, &path);
    join_lone_headings(found)
}

/// `## Title` is level 2; closing marks are left out.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?.strip_prefix([' ', '\t'])?;
    let title = rest.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

fn heading_path(path: &[(usize, String)]) -> String {
    let titles: Vec<&str> = path.iter().map(|(_, title)| title.as_str()).collect();
    shorten_heading(&titles.join(" > "))
}

/// A heading that only another heading follows begins the next section.
fn join_lone_headings(sections: Vec<Section>) -> Vec<Section> {
    let mut joined: Vec<Section> = vec![];
    let mut waiting: Vec<super::Block> = vec![];
    let last = sections.len().saturating_sub(1);
    for (at, mut section) in sections.into_iter().enumerate() {
        let is_lone = section.blocks.len() == 1
            && section.blocks[0].lines.len() == 1
            && heading(&section.blocks[0].lines[0]).is_some();
        if is_lone && at < last {
            waiting.append(&mut section.blocks);
        } else {
            section.blocks.splice(0..0, waiting.drain(..));
            joined.push(section);
        }
    }
    joined
}
