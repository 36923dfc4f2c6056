//! Views of a text, each of which undoes one way to disguise words.

use std::borrow::Cow;
use std::ops::Range;

use crate::encoded;

/// A text as rules see it: in lower case, with single spaces.
#[derive(Debug)]
pub(crate) struct TextView {
    pub(crate) text: String,
    /// For each byte, its offset in the original; `None` if the text was decoded.
    origin: Option<Vec<usize>>,
}

impl TextView {
    /// The passage of a match, as it stands in the original where that is possible.
    pub(crate) fn passage<'t>(&'t self, original: &'t str, found: &Range<usize>) -> &'t str {
        let in_original = self
            .origin
            .as_ref()
            .and_then(|origin| original.get(*origin.get(found.start)?..*origin.get(found.end)?));
        in_original.or_else(|| self.text.get(found.clone())).unwrap_or_default()
    }

    fn decoded(text: &str) -> Self {
        Self { text: fold(text).text, origin: None }
    }
}

/// Every view of a text. Views that equal one before are left out.
pub(crate) fn build_all(text: &str) -> Vec<TextView> {
    let plain = build(text, |c, out| out.extend(c.to_lowercase()));
    let mut views = vec![plain];
    let mut add = |view: TextView| {
        if views.iter().all(|known| known.text != view.text) {
            views.push(view);
        }
    };
    add(fold(text));
    add(build(text, |c, out| fold_char(look_alike(c), out)));
    add(build(text, |c, out| fold_char(letter_of_digit(look_alike(c)), out)));
    if let Cow::Owned(decoded) = encoded::decode_entities(text) {
        add(TextView::decoded(&decoded));
    }
    if let Some(joined) = encoded::join_spaced_letters(text) {
        add(TextView::decoded(&joined));
    }
    add(TextView::decoded(&encoded::rot13(text)));
    add(TextView::decoded(&text.chars().rev().collect::<String>()));
    for decoded in encoded::decode_blobs(text) {
        add(TextView::decoded(&decoded));
    }
    views
}

/// The folded view: no accents, no emphasis, plain quotes.
pub(crate) fn fold(text: &str) -> TextView {
    build(text, fold_char)
}

/// Maps every character, joins white space, and remembers where each byte came from.
fn build(content: &str, map: impl Fn(char, &mut String)) -> TextView {
    let (mut text, mut origin) = (String::with_capacity(content.len()), vec![]);
    for (at, c) in content.char_indices() {
        let before = text.len();
        if c.is_whitespace() {
            if !text.ends_with(' ') {
                text.push(' ');
            }
        } else {
            map(c, &mut text);
        }
        // A character may become a space at the end of one.
        if text[before..].starts_with(' ') && text[..before].ends_with(' ') {
            text.truncate(before);
        }
        origin.resize(text.len(), at);
    }
    origin.push(content.len());
    TextView { text, origin: Some(origin) }
}

fn fold_char(c: char, out: &mut String) {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{02BC}' | '\u{00B4}' => out.push('\''),
        '\u{201C}' | '\u{201D}' | '\u{00AB}' | '\u{00BB}' => out.push('"'),
        '_' => out.push(' '),
        // Emphasis and code marks of Markdown, combining marks, and characters without a width.
        '*'
        | '`'
        | '~'
        | '\\'
        | '\u{0300}'..='\u{036F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2060}'..='\u{206F}'
        | '\u{00AD}'
        | '\u{FEFF}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{E0000}'..='\u{E0FFF}' => {}
        _ => {
            for lower in c.to_lowercase() {
                match unaccented(lower) {
                    Some(plain) => out.push_str(plain),
                    None if ('\u{0300}'..='\u{036F}').contains(&lower) => {}
                    None => out.push(lower),
                }
            }
        }
    }
}

/// The plain letters of an accented one.
fn unaccented(c: char) -> Option<&'static str> {
    Some(match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => "a",
        'ç' | 'ć' | 'č' => "c",
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => "e",
        'ğ' => "g",
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => "o",
        'ś' | 'š' | 'ş' | 'ș' => "s",
        'ß' => "ss",
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'æ' => "ae",
        'œ' => "oe",
        _ => return None,
    })
}

/// The Latin letter that a character looks like.
fn look_alike(c: char) -> char {
    let shifted = |base: u32, first: char| {
        char::from_u32(u32::from(first) + (u32::from(c) - base)).unwrap_or(c)
    };
    match c {
        // Full width.
        '\u{FF01}'..='\u{FF5E}' => shifted(0xFF01, '!'),
        // Mathematical alphabets: 13 of 52 letters each.
        '\u{1D400}'..='\u{1D6A3}' => {
            let index = (u32::from(c) - 0x1D400) % 52;
            char::from_u32(if index < 26 { 65 + index } else { 97 + index - 26 }).unwrap_or(c)
        }
        '\u{1D7CE}'..='\u{1D7FF}' => {
            char::from_u32(48 + (u32::from(c) - 0x1D7CE) % 10).unwrap_or(c)
        }
        // Circled and squared letters.
        '\u{24B6}'..='\u{24CF}' => shifted(0x24B6, 'A'),
        '\u{24D0}'..='\u{24E9}' => shifted(0x24D0, 'a'),
        '\u{1F130}'..='\u{1F149}' => shifted(0x1F130, 'A'),
        '\u{1F170}'..='\u{1F189}' => shifted(0x1F170, 'A'),
        'а' | 'А' | 'α' | 'Α' => 'a',
        'в' | 'В' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'ё' | 'ε' | 'Ε' => 'e',
        'ɡ' => 'g',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ӏ' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'ⅼ' => 'l',
        'м' | 'М' | 'Μ' => 'm',
        'ո' | 'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ѡ' | 'ω' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' => 'y',
        _ => c,
    }
}

/// The letter that a digit or sign stands for in disguised words.
fn letter_of_digit(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        _ => c,
    }
}

/// The range of `phrase` in `text`, as whole words.
pub(crate) fn find_words(text: &str, phrase: &str) -> Option<Range<usize>> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(phrase).find_map(|(start, found)| {
        let end = start + found.len();
        let is_whole =
            is_edge(text[..start].chars().next_back()) && is_edge(text[end..].chars().next());
        is_whole.then_some(start..end)
    })
}
