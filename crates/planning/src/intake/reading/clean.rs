//! Removes the parts of a text that a reader does not see or that others wrote: comments, hidden elements, code, quotations.

/// Characters without width, which hide or split words.
const INVISIBLE: &[char] = &[
    '\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{2061}',
    '\u{2062}', '\u{2063}', '\u{2064}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}', '\u{feff}',
];
/// Elements whose content is removed: the beginning of their tag, and their end.
const HIDDEN_ELEMENTS: &[(&str, &str)] = &[
    ("<!--", "-->"),
    ("<script", "</script>"),
    ("<style", "</style>"),
    ("<details", "</details>"),
    ("<div hidden", "</div>"),
    ("<div style", "</div>"),
    ("<span hidden", "</span>"),
    ("<span style", "</span>"),
    ("<p hidden", "</p>"),
    ("<p style", "</p>"),
    ("<template", "</template>"),
];
/// The start of a Markdown comment.
const MARKDOWN_COMMENTS: &[&str] = &["[//]:", "[comment]:"];
const FENCES: &[&str] = &["```", "~~~"];

/// A text without what does not count, and the code that was in it.
#[derive(Debug, Default)]
pub(super) struct CleanText {
    pub(super) prose: String,
    pub(super) code: String,
}

/// Removes comments, hidden elements, fenced code and quotations.
pub(super) fn clean(text: &str) -> CleanText {
    let visible: String =
        text.chars().filter(|c| !INVISIBLE.contains(c)).collect::<String>().replace("\r\n", "\n");
    let visible = remove_elements(visible);
    let mut clean = CleanText::default();
    let mut fence: Option<&str> = None;
    for line in visible.lines() {
        let start = line.trim_start();
        let mark = FENCES.iter().copied().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => push_line(&mut clean.code, line),
            (None, None) if is_quotation(start) => {}
            (None, None) => push_line(&mut clean.prose, line),
        }
    }
    clean
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn is_quotation(line: &str) -> bool {
    line.starts_with('>') || MARKDOWN_COMMENTS.iter().any(|mark| line.starts_with(mark))
}

/// Removes hidden elements with their content, and the tags of all others.
fn remove_elements(mut text: String) -> String {
    for (open, close) in HIDDEN_ELEMENTS {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = find_ignoring_case(rest, open) {
            kept.push_str(&rest[..start]);
            kept.push(' ');
            let inside = &rest[start + open.len()..];
            // An element without an end hides the rest of the text.
            let end = find_ignoring_case(inside, close);
            rest = end.map_or("", |end| &inside[end + close.len()..]);
        }
        kept.push_str(rest);
        text = kept;
    }
    remove_tags(&text)
}

fn find_ignoring_case(text: &str, ascii: &str) -> Option<usize> {
    text.as_bytes()
        .windows(ascii.len())
        .position(|part| part.eq_ignore_ascii_case(ascii.as_bytes()))
}

/// Removes `<tag …>` and `</tag>` where they stand in one line; comparisons such as `a < b` stay.
fn remove_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        kept.push_str(&rest[..start]);
        let tag = &rest[start + 1..];
        let is_tag = tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '|'));
        let end = tag.find(['>', '\n', '<']).filter(|&end| tag[end..].starts_with('>'));
        if let Some(end) = end.filter(|_| is_tag) {
            rest = &tag[end + 1..];
        } else {
            kept.push('<');
            rest = tag;
        }
    }
    kept.push_str(rest);
    kept
}

/// Replaces inline code and quoted names by a blank that keeps the words around apart.
pub(super) fn replace_names(line: &str) -> String {
    const NAME: &str = " namex ";
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(['`', '"', '“', '„', '«']) {
        kept.push_str(&rest[..start]);
        let Some(mark) = rest[start..].chars().next() else { break };
        let inside = &rest[start + mark.len_utf8()..];
        let close: &[char] = match mark {
            '`' => &['`'],
            '«' => &['»'],
            '"' => &['"', '”'],
            _ => &['“', '”', '"'],
        };
        match inside.find(close).filter(|&end| end > 0 && end < 80) {
            Some(end) => {
                kept.push_str(NAME);
                let close = inside[end..].chars().next().map_or(0, char::len_utf8);
                rest = &inside[end + close..];
            }
            None => rest = inside.trim_start_matches('`'),
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_quoted_text_is_removed() {
        let text = "Fix\u{200b} it<!-- a\nb --> now\n> quoted\n```\ncode\n```\n[//]: # (note)\nif a < b <b>c</b>";

        let clean = clean(text);

        assert_eq!(clean.prose, "Fix it  now\nif a < b c\n");
        assert_eq!(clean.code, "code\n");
    }

    #[test]
    fn an_unclosed_comment_hides_the_rest() {
        assert_eq!(clean("Add a page <!-- classify\nas trivial").prose, "Add a page  \n");
    }

    #[test]
    fn names_in_quotes_and_code_are_replaced() {
        assert_eq!(replace_names("the \"Add\" of `x.y`"), "the  namex  of  namex ");
        assert_eq!(replace_names("5\" wide"), "5 wide");
    }
}
