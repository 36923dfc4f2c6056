//! What a reader of the rendered text does not see: invisible characters, comments, hidden elements, and links
//! that lead elsewhere than they say.

use std::sync::LazyLock;

use regex::Regex;

use crate::{Category, ScanFinding};

/// Comments that tools read and that instruct no agent.
const TOOL_COMMENTS: &[&str] = &[
    "prettier-ignore",
    "markdownlint",
    "eslint-",
    "toc",
    "/toc",
    "start doctoc",
    "end doctoc",
    "spdx-",
    "vale ",
    "cspell:",
    "tocstop",
    "omit in toc",
    "truncate",
    "more",
    "begin",
    "end",
];
/// The longest comment of a tool.
const MAX_TOOL_COMMENT: usize = 80;

static HIDDEN_ELEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?is)<[a-z][^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0[;"' ]|color\s*:\s*(?:white|#fff(?:fff)?\b|transparent)|\shidden[\s>=])[^>]*>[^<]*\w"#,
    )
    .ok()
});
static COMMENT_REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)^ {0,3}\[[^\]\n]*\]:\s*(?:#|<>)\s*(?:\(([^)\n]{8,})\)|"([^"\n]{8,})"|'([^'\n]{8,})')"#).ok()
});
static ACTIVE_LINK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\]\(\s*<?\s*(?:javascript|vbscript|data:text/html|data:application/[a-z-]*script)[^)]*\)").ok()
});
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\[(https?://[^\]\s/]+)[^\]]*\]\(\s*<?(https?://[^)\s/>]+)[^)]*\)").ok()
});

/// Everything hidden in `content`, at most one finding of each kind.
pub(crate) fn find(content: &str) -> Vec<ScanFinding> {
    let mut findings = vec![];
    findings.extend(invisible_character(content));
    findings.extend(comment(content));
    let matched = |pattern: &Option<Regex>| {
        pattern.as_ref().and_then(|pattern| pattern.find(content)).map(|found| found.as_str())
    };
    for (pattern, rule, reason) in [
        (&HIDDEN_ELEMENT, "hidden.element", "it contains an element that readers do not see"),
        (&COMMENT_REFERENCE, "hidden.reference", "it contains a note that readers do not see"),
        (&ACTIVE_LINK, "hidden.active-link", "it contains a link that runs a program"),
    ] {
        let found = matched(pattern);
        findings.extend(found.map(|text| finding(rule, reason, text)));
    }
    findings.extend(disguised_link(content));
    findings
}

fn finding(rule: &str, reason: &str, text: &str) -> ScanFinding {
    ScanFinding::new(rule, Category::HiddenInstructions, reason, text)
}

fn invisible_character(content: &str) -> Option<ScanFinding> {
    let mut before = None;
    let mut all = content.char_indices().peekable();
    while let Some((at, c)) = all.next() {
        let after = all.peek().map(|(_, next)| *next);
        let is_joint = matches!(c, '\u{200C}' | '\u{200D}');
        // Emoji and some scripts need joiners; next to ASCII they only hide text.
        let hides =
            is_joint && [before, after].iter().any(|near| near.is_none_or(|c| c.is_ascii()));
        // A byte order mark at the start of a file is no disguise.
        let is_mark = c == '\u{FEFF}' && at == 0;
        if (is_invisible(c) && !is_mark) || hides {
            let reason = format!("it contains the invisible character U+{:04X}", u32::from(c));
            // The quoted passage is the character itself, which is not trimmed.
            return Some(ScanFinding {
                text: c.to_string(),
                ..finding("hidden.character", &reason, "")
            });
        }
        before = Some(c);
    }
    None
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}')
        || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

/// A comment that is not one of a tool.
fn comment(content: &str) -> Option<ScanFinding> {
    let mut from = 0;
    while let Some(start) = content[from..].find("<!--").map(|at| from + at) {
        let inside = start + "<!--".len();
        let end = content[inside..].find("-->").map_or(content.len(), |at| inside + at);
        let said = content[inside..end].trim();
        if !said.is_empty() && !is_of_tool(said) {
            let shown = (end + "-->".len()).min(content.len());
            let reason = "it contains a comment, which readers do not see";
            return Some(finding("hidden.comment", reason, &content[start..shown]));
        }
        from = end;
    }
    None
}

fn is_of_tool(comment: &str) -> bool {
    let lower = comment.to_lowercase();
    let is_word = |tool: &&str| {
        lower.strip_prefix(*tool).is_some_and(|rest| {
            tool.ends_with(['-', ' ', ':']) || !rest.starts_with(char::is_alphanumeric)
        })
    };
    // A row of words would be an instruction.
    let words = lower.split_whitespace().count();
    comment.len() <= MAX_TOOL_COMMENT && words <= 6 && TOOL_COMMENTS.iter().any(is_word)
}

/// A link whose text is the address of another host.
fn disguised_link(content: &str) -> Option<ScanFinding> {
    let link = LINK.as_ref()?;
    let differs = |found: &regex::Captures<'_>| {
        let host = |index| found.get(index).map(|host| host.as_str().to_lowercase());
        host(1) != host(2)
    };
    let found = link.captures_iter(content).find(differs)?;
    let reason = "it contains a link that leads to another host than it says";
    Some(finding("hidden.link", reason, found.get(0)?.as_str()))
}
