//! Extracts the readable text of an HTML page.
//!
//! Start at [`read_page`]. Skips invisible content: scripts, styles, elements hidden by their own
//! attributes, comments, invisible characters. Style sheets are not evaluated. Where a page is
//! broken, it hides more rather than less.

use std::cell::RefCell;

use cynode_domain::text::{single_line, truncate_chars};
use cynode_domain::visible_text::is_shown;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Nesting limit; deeper content is skipped.
const DEPTH: usize = 256;
/// Characters of a title that are kept.
const TITLE_CHARS: usize = 300;

/// A page as text.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadablePage {
    pub title: Option<String>,
    pub text: String,
}

/// Parses a page. Collects at most `max_bytes` of text, plus one token. Headings are marked as in Markdown on request.
pub fn read_page(html: &str, max_bytes: usize, marks_headings: bool) -> ReadablePage {
    let state = PageState { max_bytes, marks_headings, ..PageState::default() };
    let reader = PageReader { state: RefCell::new(state) };
    let tokenizer = Tokenizer::new(reader, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // No scripts run here, so the first call reads everything.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let state = tokenizer.sink.state.into_inner();
    let title = single_line(truncate_chars(&state.title, TITLE_CHARS));
    ReadablePage {
        title: (!title.is_empty()).then_some(title),
        text: state.text.trim_end().to_owned(),
    }
}

/// The separator before the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum TextGap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

/// An open element.
struct OpenElement {
    name: String,
    is_hidden: bool,
}

#[derive(Default)]
struct PageState {
    open: Vec<OpenElement>,
    /// How many of the open elements are hidden.
    hidden: usize,
    /// How many of the open elements keep their white space.
    verbatim: usize,
    is_title: bool,
    title: String,
    text: String,
    gap: TextGap,
    max_bytes: usize,
    marks_headings: bool,
}

struct PageReader {
    state: RefCell<PageState>,
}

impl TokenSink for PageReader {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        match token {
            Token::TagToken(tag) => match tag.kind {
                TagKind::StartTag => return state.open_element(&tag),
                TagKind::EndTag => state.close_element(&tag.name),
            },
            Token::CharacterTokens(text) => state.add_text(&text),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl PageState {
    fn open_element(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        self.gap = self.gap.max(gap_of(name));
        if !is_void(name) {
            let is_hidden = is_never_shown(name) || is_hidden(tag) || self.open.len() >= DEPTH;
            self.hidden += usize::from(is_hidden);
            self.verbatim += usize::from(name == "pre");
            self.is_title |= name == "title" && self.hidden == 0 && self.title.is_empty();
            if self.open.len() < DEPTH {
                self.open.push(OpenElement { name: name.to_owned(), is_hidden });
            }
        }
        if name == "li" && self.hidden == 0 {
            self.add_text("- ");
        }
        if self.marks_headings && self.hidden == 0 && is_heading(name) {
            self.add_text(&"######"[..heading_level(name)]);
            self.gap = TextGap::Space;
        }
        match name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        }
    }

    fn close_element(&mut self, name: &str) {
        self.gap = self.gap.max(gap_of(name));
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else { return };
        for closed in self.open.drain(at..) {
            self.hidden -= usize::from(closed.is_hidden);
            self.verbatim -= usize::from(closed.name == "pre");
            self.is_title &= closed.name != "title";
        }
    }

    fn add_text(&mut self, text: &str) {
        if self.is_title {
            return self.title.extend(text.chars().filter(|letter| is_shown(*letter)));
        }
        if self.hidden > 0 || self.text.len() > self.max_bytes {
            return;
        }
        for letter in text.chars().filter(|letter| is_shown(*letter)) {
            if letter == '\n' && self.verbatim > 0 {
                self.gap =
                    if self.gap < TextGap::Line { TextGap::Line } else { TextGap::Paragraph };
            } else if letter.is_whitespace() && (self.verbatim == 0 || self.gap >= TextGap::Line) {
                self.gap = self.gap.max(TextGap::Space);
            } else {
                self.write_gap();
                self.text.push(letter);
            }
        }
    }

    /// Writes the separator before the next word.
    fn write_gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str(match self.gap {
                TextGap::None => "",
                TextGap::Space => " ",
                TextGap::Line => "\n",
                TextGap::Paragraph => "\n\n",
            });
        }
        self.gap = TextGap::None;
    }
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn heading_level(name: &str) -> usize {
    usize::from(name.bytes().last().unwrap_or(b'1') - b'0').clamp(1, 6)
}

fn gap_of(name: &str) -> TextGap {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "pre" | "table" | "ul"
        | "ol" | "dl" | "section" | "article" | "hr" => TextGap::Paragraph,
        "br" | "div" | "li" | "tr" | "dt" | "dd" | "main" | "header" | "figure" | "figcaption"
        | "caption" | "form" | "fieldset" | "details" | "summary" | "address" | "body" => {
            TextGap::Line
        }
        "td" | "th" => TextGap::Space,
        _ => TextGap::None,
    }
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements that hold no text for readers, or navigation that is on every page of a site.
fn is_never_shown(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "math"
            | "canvas"
            | "iframe"
            | "noframes"
            | "noembed"
            | "object"
            | "audio"
            | "video"
            | "button"
            | "select"
            | "textarea"
            | "datalist"
            | "nav"
            | "footer"
    )
}

fn is_hidden(tag: &Tag) -> bool {
    let attribute = |name: &str| {
        let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
        found.map(|attribute| attribute.value.to_ascii_lowercase())
    };
    attribute("hidden").is_some()
        || attribute("aria-hidden").is_some_and(|value| value.trim() == "true")
        || (&*tag.name == "dialog" && attribute("open").is_none())
        || attribute("style").is_some_and(|style| is_hiding_style(&style))
}

/// Whether a style makes its element invisible.
fn is_hiding_style(style: &str) -> bool {
    let style: String = style.chars().filter(|letter| !letter.is_whitespace()).collect();
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(name, value)| {
        let value = value.trim_end_matches("!important");
        let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        let is_zero = number.parse::<f32>().is_ok_and(|number| number.abs() < 0.02);
        match name {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "content-visibility" => value == "hidden",
            "opacity" | "font-size" | "max-height" => is_zero,
            "color" => value == "transparent",
            "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "left" | "top" | "right" | "text-indent" => {
                number.parse::<f32>().is_ok_and(|number| number <= -500.0)
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        read_page(html, 10_000, false).text
    }

    #[test]
    fn a_page_becomes_its_title_and_paragraphs() {
        let page = read_page(
            "<!doctype html><html><head><title> The\n Title </title><meta name=x content=y></head>
             <body><h1>Head</h1><p>One &amp; two<br>three<ul><li>a<li>b</ul>
             <table><tr><td>x<td>y</tr></table><pre>  k = 1\n\n  l</pre></body></html>",
            10_000,
            false,
        );

        assert_eq!(page.title.as_deref(), Some("The Title"));
        assert_eq!(page.text, "Head\n\nOne & two\nthree\n\n- a\n- b\n\nx y\n\nk = 1\n\nl");
    }

    #[test]
    fn what_a_reader_would_not_see_is_left_out() {
        for html in [
            "a<script>evil('</div>')</script>b",
            "a<style>evil</style>b",
            "a<!-- evil -->b",
            "a<noscript>evil</noscript>b",
            "a<template>evil</template>b",
            "a<svg><text>evil</text></svg>b",
            "a<div hidden>evil<p>evil</div>b",
            "a<span aria-hidden=TRUE>evil</span>b",
            "a<span style='color:red; DISPLAY : none'>evil</span>b",
            "a<span style='opacity:0'>evil</span>b",
            "a<span style='font-size:0px'>evil</span>b",
            "a<span style='position:absolute;left:-9999px'>evil</span>b",
            "a<span style='visibility:hidden!important'><b>evil</b></span>b",
            "a<dialog>evil</dialog>b",
            "a<iframe>evil</iframe>b",
            "a<img alt=evil>b",
            "a<textarea>evil</textarea>b",
        ] {
            assert_eq!(text(html).replace('\n', ""), "ab", "{html}");
        }
        assert_eq!(text("<span style='opacity:0.9;left:-1px'>seen</span>"), "seen");
    }

    #[test]
    fn letters_without_a_shape_are_left_out() {
        assert_eq!(text("a\u{200b}\u{202e}\u{e0041}\u{feff}b&#8203;c&#0;"), "abc\u{fffd}");
    }

    #[test]
    fn a_broken_page_hides_more_rather_than_less() {
        assert_eq!(text("a<div hidden>evil<span>evil</nonsense>evil"), "a");
        assert_eq!(text("a<script>evil"), "a");
        let deep = "<div>".repeat(DEPTH + 5);
        assert_eq!(text(&format!("a{deep}evil")), "a");
    }

    #[test]
    fn no_more_text_is_gathered_than_is_wanted() {
        let html = "<p>word</p>".repeat(10_000);

        assert!(read_page(&html, 100, false).text.len() < 120);
    }
}
