//! Encodings in which a text may hide instructions. Every result is bounded by the length of the text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The shortest encoded part that is decoded; shorter ones hold no instruction.
const MIN_BLOB_CHARS: usize = 20;
/// The most parts that are decoded.
const MAX_BLOBS: usize = 200;
/// The least letters in a row, each alone, that count as a disguise.
const MIN_SPACED_LETTERS: usize = 8;

/// The texts of base64 and hexadecimal parts.
pub(crate) fn decode_blobs(text: &str) -> Vec<String> {
    let is_blob = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    // A blob may be cut into lines.
    let joined = text.replace("\r\n", "\n").replace("=\n", "= ").replace('\n', "");
    let mut decoded = vec![];
    for source in [text, joined.as_str()] {
        let parts = source.split(|c| !is_blob(c)).filter(|part| part.len() >= MIN_BLOB_CHARS);
        for part in parts.take(MAX_BLOBS) {
            let bytes = [
                hex::decode(part).ok(),
                STANDARD_NO_PAD.decode(trim_to_quads(part)).ok(),
                URL_SAFE_NO_PAD.decode(trim_to_quads(part)).ok(),
            ];
            let texts =
                bytes.into_iter().flatten().filter_map(|bytes| String::from_utf8(bytes).ok());
            decoded.extend(texts.filter(|text| is_readable(text)));
        }
    }
    decoded.dedup();
    decoded
}

/// A base64 text never has one character more than a multiple of four.
fn trim_to_quads(part: &str) -> &str {
    if part.len() % 4 == 1 { &part[..part.len() - 1] } else { part }
}

fn is_readable(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_control() || c.is_whitespace())
}

/// The text with its HTML entities and percent-encodings decoded; borrowed if there are none.
pub(crate) fn decode_entities(text: &str) -> Cow<'_, str> {
    if !text.contains("&#") && !text.contains('%') && !text.contains("\\u") && !text.contains("\\x")
    {
        return Cow::Borrowed(text);
    }
    let (mut decoded, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let (c, length) = entity(rest).unwrap_or((first, first.len_utf8()));
        decoded.push(c);
        rest = rest.get(length..).unwrap_or_default();
    }
    if decoded == text { Cow::Borrowed(text) } else { Cow::Owned(decoded) }
}

/// The character that an encoding at the start of `text` stands for, and its length in bytes.
fn entity(text: &str) -> Option<(char, usize)> {
    let number =
        |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    if let Some(inside) = text.strip_prefix("&#") {
        let end = inside.find(';').filter(|end| (1..=8).contains(end))?;
        let digits = inside.get(..end)?;
        let c = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        };
        return Some((c?, end + 3));
    }
    for (prefix, digits) in [("\\u", 4), ("\\x", 2), ("%", 2)] {
        if let Some(inside) = text.strip_prefix(prefix) {
            let c = number(inside.get(..digits)?, 16).filter(|c| !c.is_control())?;
            return Some((c, prefix.len() + digits));
        }
    }
    None
}

pub(crate) fn rot13(text: &str) -> String {
    let turn = |c: char, first: u8| {
        let index = u8::try_from(u32::from(c) - u32::from(first)).unwrap_or(0);
        char::from(first + (index + 13) % 26)
    };
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c, b'a'),
            'A'..='Z' => turn(c, b'A'),
            _ => c,
        })
        .collect()
}

/// The text with "i g n o r e" written as "ignore"; `None` if it has no such row of letters. Two spaces, or another sign,
/// end a word.
pub(crate) fn join_spaced_letters(text: &str) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut joined, mut at, mut is_changed) = (String::with_capacity(text.len()), 0, false);
    while let Some(c) = chars.get(at) {
        let row = row_of_letters(&chars, at);
        if row >= 3 {
            joined.extend(chars[at..].iter().step_by(2).take(row));
            at += row * 2 - 1;
            is_changed |= row >= 3;
            continue;
        }
        joined.push(*c);
        at += 1;
    }
    let letters = longest_row(&chars);
    (is_changed && letters >= MIN_SPACED_LETTERS).then_some(joined)
}

/// How many single letters stand in a row from `at` on, one separator between two.
fn row_of_letters(chars: &[char], at: usize) -> usize {
    let is_start = at == 0 || chars.get(at - 1).is_none_or(|before| !before.is_alphanumeric());
    if !is_start {
        return 0;
    }
    let separator = chars.get(at + 1).copied();
    let mut count = 0;
    let mut position = at;
    while chars.get(position).is_some_and(|c| c.is_alphabetic()) {
        let after = chars.get(position + 1).copied();
        if after.is_some_and(char::is_alphanumeric) {
            return count;
        }
        count += 1;
        let is_same = after == separator && after.is_some_and(|c| " .-_".contains(c));
        if !is_same {
            break;
        }
        position += 2;
    }
    count
}

/// The letters of all rows that belong together: words of single letters with one wider gap between them.
fn longest_row(chars: &[char]) -> usize {
    let (mut all, mut at) = (0, 0);
    while at < chars.len() {
        let row = row_of_letters(chars, at);
        if row >= 3 {
            all += row;
            at += row * 2;
        } else {
            at += 1;
        }
    }
    all
}
