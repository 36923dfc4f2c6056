//! Words of a text, and the terms that are indexed and searched.
//!
//! A word is a run of letters and digits in any script, lower-cased; a character of a script without spaces is a word of its
//! own. Identifiers also count as their parts (`retryDelay` is `retrydelay`, `retry` and `delay`). A term is a word without
//! its English inflection. A part of a word never matches: `bet` does not find `beta`.

use std::collections::BTreeMap;

/// Longer words are cut; they are keys, hashes or noise.
const MAX_WORD_CHARS: usize = 48;

/// A term as it is stored: the hash of its text, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(pub i64);

impl TermId {
    /// The id of a term.
    pub fn from_term(term: &str) -> Self {
        Self(i64::from_ne_bytes((hash(term.as_bytes(), 0) >> 1).to_ne_bytes()))
    }
}

/// A fast hash that is the same on every machine (FNV-1a with a final mix).
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// The words of a text, in order.
pub fn words(text: &str) -> Vec<String> {
    let mut found = vec![];
    for run in text.split(|letter: char| !letter.is_alphanumeric()) {
        push_words(run, &mut found);
    }
    found
}

/// The terms of a text, in order.
pub fn terms(text: &str) -> Vec<String> {
    words(text).iter().map(|word| stem(word)).collect()
}

/// How often each term occurs in a text.
pub fn term_counts(text: &str) -> BTreeMap<TermId, u32> {
    let mut counts = BTreeMap::new();
    for term in terms(text) {
        *counts.entry(TermId::from_term(&term)).or_insert(0) += 1;
    }
    counts
}

fn push_words(run: &str, found: &mut Vec<String>) {
    if run.is_empty() {
        return;
    }
    if run.chars().any(is_written_without_spaces) {
        let mut other = String::new();
        for letter in run.chars() {
            if is_written_without_spaces(letter) {
                push_words(&std::mem::take(&mut other), found);
                found.push(letter.to_string());
            } else {
                other.push(letter);
            }
        }
        return push_words(&other, found);
    }
    found.push(run.chars().flat_map(char::to_lowercase).take(MAX_WORD_CHARS).collect());
    let parts = identifier_parts(run);
    if parts.len() > 1 {
        let long = parts.iter().filter(|part| part.chars().count() > 1);
        found.extend(long.map(|part| part.to_lowercase()));
    }
}

/// `HttpServer2` is `Http` and `Server2`; a word without humps is one part.
fn identifier_parts(run: &str) -> Vec<&str> {
    let mut parts = vec![];
    let (mut start, mut was_lower) = (0, false);
    for (at, letter) in run.char_indices() {
        if letter.is_uppercase() && was_lower {
            parts.push(&run[start..at]);
            start = at;
        }
        was_lower = letter.is_lowercase();
    }
    parts.push(&run[start..]);
    parts.truncate(16);
    parts
}

/// Han, Hiragana, Katakana, Thai.
fn is_written_without_spaces(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{0e00}'..='\u{0e7f}' | '\u{20000}'..='\u{3134f}')
}

/// Words of questions that say nothing about what is asked for.
pub fn is_function_word(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "a", "about", "after", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been",
        "before", "but", "by", "can", "could", "did", "do", "does", "for", "from", "get", "gets",
        "give", "had", "happen", "happens", "has", "have", "how", "i", "if", "in", "into", "is",
        "it", "its", "kind", "let", "long", "many", "may", "me", "much", "must", "my", "need",
        "of", "on", "one", "or", "our", "out", "s", "should", "so", "some", "t", "than", "that",
        "the", "their", "them", "then", "there", "these", "they", "thing", "this", "to", "up",
        "us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will",
        "with", "would", "you", "your",
    ];
    WORDS.binary_search(&word).is_ok()
}

/// The term of a word: without the inflection of English plurals and verbs. Deterministic and light: it never joins words
/// of fewer than three common letters, and leaves words of other scripts as they are.
pub fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return word.to_owned();
    }
    let word = without_plural(word);
    let word = without_verb_ending(&word);
    let word = without_derivation(&word);
    match word.strip_suffix('e') {
        Some(rest) if rest.len() >= 3 => rest.to_owned(),
        _ => match word.strip_suffix('y') {
            Some(rest) if rest.len() >= 3 => format!("{rest}i"),
            _ => word,
        },
    }
}

fn without_plural(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("sses") {
        return format!("{rest}ss");
    }
    if let Some(rest) = word.strip_suffix("ies").filter(|rest| rest.len() >= 2) {
        return format!("{rest}y");
    }
    match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => word.to_owned(),
    }
}

fn without_verb_ending(word: &str) -> String {
    let has_vowel = |rest: &str| rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    for ending in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= 3) else { continue };
        if !has_vowel(rest) || (ending == "ed" && rest.ends_with('e')) {
            continue;
        }
        let bytes = rest.as_bytes();
        let (last, before) = (bytes[bytes.len() - 1], bytes[bytes.len() - 2]);
        let is_doubled = last == before && !matches!(last, b'l' | b's' | b'z');
        return if is_doubled { rest[..rest.len() - 1].to_owned() } else { rest.to_owned() };
    }
    word.to_owned()
}

fn without_derivation(word: &str) -> String {
    const ENDINGS: &[(&str, &str)] = &[
        ("ization", "ize"),
        ("ation", "ate"),
        ("ement", "e"),
        ("ment", ""),
        ("ness", ""),
        ("ution", "ute"),
        ("ction", "ct"),
        ("able", ""),
        ("ible", ""),
        ("ally", "al"),
        ("ly", ""),
        ("er", ""),
        ("or", ""),
        ("al", ""),
    ];
    for (ending, instead) in ENDINGS {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= 4) {
            return format!("{rest}{instead}");
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_in_every_script() {
        assert_eq!(words("Größe, naïve ΣΊΣΥΦΟΣ!"), ["größe", "naïve", "σίσυφοσ"]);
        assert_eq!(
            words("retryDelay_ms = HTTPServer"),
            ["retrydelay", "retry", "delay", "ms", "httpserver"]
        );
        assert_eq!(words("検索API"), ["検", "索", "api"]);
        assert!(words(" …—\n").is_empty());
        assert_eq!(words(&"x".repeat(500))[0].len(), MAX_WORD_CHARS);
    }

    #[test]
    fn inflections_of_a_word_are_one_term_and_other_words_are_not() {
        for family in [
            &["configure", "configures", "configured", "configuring"][..],
            &["policy", "policies"],
            &["stop", "stops", "stopped", "stopping"],
            &["delete", "deleted", "deleting", "deletes"],
            &["deploy", "deploys", "deployed", "deployment"],
        ] {
            let stems: Vec<String> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|it| *it == stems[0]), "{stems:?}");
        }
        for (one, other) in
            [("bet", "beta"), ("lease", "release"), ("class", "clas"), ("sing", "s")]
        {
            assert_ne!(stem(one), stem(other));
        }
        assert_eq!(stem("größen"), "größen");
    }

    #[test]
    fn function_words_are_sorted_for_the_search() {
        assert!(is_function_word("which") && is_function_word("a") && is_function_word("your"));
        assert!(!is_function_word("lease"));
    }

    #[test]
    fn ids_of_terms_never_change() {
        assert_eq!(TermId::from_term("lease"), TermId::from_term("lease"));
        assert_ne!(TermId::from_term("lease"), TermId::from_term("leas"));
        assert!(TermId::from_term("größe").0 >= 0);
    }
}
