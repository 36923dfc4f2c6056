//! What the form of a text shows: an address, a sum, a date, a command, the name of a file.
//!
//! A shape is a term like others, found in phrases and goals by the same rules. So the phrases say what it means for a
//! tool.

/// The terms of the shapes of a text, in any case.
pub(super) fn shapes(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let (addresses, others): (Vec<&str>, Vec<&str>) =
        lower.split_whitespace().partition(|word| is_address(word));
    let rest = others.join(" ");
    let found = [
        (!addresses.is_empty(), "#address"),
        (has_sum(&rest), "#sum"),
        (others.iter().any(|word| is_date(word)) || has_named_day(&others), "#date"),
        (others.iter().any(|word| is_time(word)), "#time"),
        (rest.matches('`').count() >= 2, "#command"),
        (others.iter().any(|word| is_unit(word)), "#unit"),
        (others.iter().any(|word| is_file(word)), "#file"),
        (others.iter().any(|word| is_pointer(word)) || rest.contains("{\""), "#pointer"),
    ];
    found.into_iter().filter(|(is_shown, _)| *is_shown).map(|(_, shape)| shape).collect()
}

/// Whether a word is an address in the web.
pub(super) fn is_address(word: &str) -> bool {
    word.contains("://") || word.trim_start_matches(['(', '"', '\'']).starts_with("www.")
}

/// Whether an operator stands between two operands, such as in `(3 + 4) * 2`.
fn has_sum(text: &str) -> bool {
    let letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    letters.windows(3).any(|three| match three {
        // `2026-01` and `1/2` may be anything else.
        [before, '+' | '*' | '^' | '×' | '÷', after] => is_operand(*before) && is_operand(*after),
        [')', '-' | '/', after] => is_operand(*after),
        _ => false,
    }) || [" - ", " / "].iter().any(|operator| {
        text.split_once(operator).is_some_and(|(before, after)| {
            before.ends_with(is_operand) && after.starts_with(is_operand)
        })
    })
}

fn is_operand(letter: char) -> bool {
    letter.is_ascii_digit() || "()".contains(letter)
}

/// Whether a word is a date in digits, such as `2026-01-31` or `31.1.2026`.
fn is_date(word: &str) -> bool {
    let core = core(word);
    ['-', '.', '/'].iter().any(|joint| {
        let parts: Vec<&str> = core.split(*joint).collect();
        let is_number = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        parts.len() == 3 && parts.iter().all(is_number) && core.len() >= 6
    })
}

/// Whether a month stands next to a number.
fn has_named_day(words: &[&str]) -> bool {
    let is_month = |word: &str| {
        const MONTHS: &str = " january february march april may june july august september october november december \
            januar februar märz mai juni juli oktober dezember ";
        MONTHS.contains(&format!(" {} ", core(word)))
    };
    let has_digit = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let near = |words: &[&str]| words.iter().any(|word| has_digit(word));
    words.windows(3).any(|three| is_month(three[1]) && near(three))
        || words.windows(3).any(|three| is_month(three[2]) && near(&three[..2]))
        || words
            .windows(2)
            .any(|two| is_month(two[0]) && near(two) || is_month(two[1]) && near(two))
}

/// Whether a word is a time of the day, such as `17:40`.
fn is_time(word: &str) -> bool {
    core(word).split_once(':').is_some_and(|(hour, minute)| {
        let digits = |part: &str, most| (1..=most).contains(&part.len()) && is_number(part);
        digits(hour, 2) && digits(minute, 2)
    })
}

/// Whether a word is the name of a work unit, such as `impl:login`.
fn is_unit(word: &str) -> bool {
    core(word).split_once(':').is_some_and(|(kind, name)| is_word(kind) && is_word(name))
}

/// Whether a word ends like the name of a file, such as `report.pdf`.
fn is_file(word: &str) -> bool {
    core(word).rsplit_once('.').is_some_and(|(stem, extension)| {
        (2..=4).contains(&extension.len())
            && is_word(extension)
            && stem.chars().any(char::is_alphabetic)
    })
}

/// Whether a word is a pointer into a document, such as `/items/0`.
fn is_pointer(word: &str) -> bool {
    let core = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    core.starts_with('/') && core.matches('/').count() >= 2
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase())
}

/// A word without the marks around it.
fn core(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_recognised() {
        for (text, shape) in [
            ("read https://docs.rs", "#address"),
            ("see (www.example.com)", "#address"),
            ("(1250 - 380) * 1.19", "#sum"),
            ("what is 17*23?", "#sum"),
            ("what is 17 - 4", "#sum"),
            ("since 2026-02-01.", "#date"),
            ("am 24.12.2026", "#date"),
            ("on 31 January", "#date"),
            ("the 3rd of May", "#date"),
            ("May 3", "#date"),
            ("until 17:40", "#time"),
            ("do `make test`", "#command"),
            ("Show impl:login", "#unit"),
            ("show me report.pdf", "#file"),
            ("only /items/0/name", "#pointer"),
        ] {
            assert!(shapes(text).contains(&shape), "{text}: {:?}", shapes(text));
        }
    }

    #[test]
    fn words_without_a_form_show_nothing() {
        for text in ["It went well. Why?", "nightly-build of web/shop", "you may go", "v2", ""] {
            assert_eq!(shapes(text), [""; 0], "{text}");
        }
    }
}
