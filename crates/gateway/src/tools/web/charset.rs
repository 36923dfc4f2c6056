//! Decodes the bytes of a document.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes of a page that are searched for its charset declaration.
const PROLOGUE: usize = 1024;

/// Decodes `body`: by its byte order mark, else its header, else (in a page) the page's own
/// declaration. Without any of them it is UTF-8 if valid, else windows-1252.
pub(super) fn decode<'a>(body: &'a [u8], content_type: &str, is_page: bool) -> Cow<'a, str> {
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    let said = || declared_encoding(content_type.as_bytes());
    let written = || {
        let head = body.get(..PROLOGUE).unwrap_or(body);
        // A page whose declaration was found in ASCII is not in a two-byte encoding.
        is_page
            .then(|| declared_encoding(head))
            .flatten()
            .filter(|found| found.is_ascii_compatible())
    };
    let encoding = marked.or_else(said).or_else(written).unwrap_or_else(|| guess_encoding(body));
    encoding.decode(body).0
}

/// The encoding after `charset=`.
fn declared_encoding(text: &[u8]) -> Option<&'static Encoding> {
    const MARK: &[u8] = b"charset=";
    let text = text.to_ascii_lowercase();
    let at = text.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let rest = text.get(at..)?;
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\'' | b';' | b'>' | b'/' | b' ' | b'\t');
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    Encoding::for_label(rest.get(..end)?)
}

fn guess_encoding(body: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(body) {
        // A truncated document may end in half a character.
        Err(fault) if fault.error_len().is_some() => WINDOWS_1252,
        Ok(_) | Err(_) => UTF_8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_taken_from_mark_header_page_or_bytes_in_this_order() {
        let text = |body: &[u8], kind: &str, is_page| decode(body, kind, is_page).into_owned();

        assert_eq!(text(b"\xef\xbb\xbfgr\xc3\xbcn", "text/plain; charset=latin1", false), "grün");
        assert_eq!(text(b"gr\xfcn", "text/plain; charset=\"ISO-8859-1\"", false), "grün");
        assert_eq!(text(b"<meta charset='koi8-r'>\xc4\xc1", "text/html", true).len(), 27);
        assert_eq!(text(b"<meta charset=utf-16>gr\xc3\xbcn", "text/html", true).len(), 26);
        assert_eq!(text(b"gr\xfcn", "text/plain", false), "grün");
        assert_eq!(text(b"gr\xc3\xbcn \xc3", "text/plain", false), "grün \u{fffd}");
        assert_eq!(text(b"\xff\xfea\0", "", false), "a");
    }
}
