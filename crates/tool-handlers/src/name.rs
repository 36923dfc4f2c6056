//! Names of handlers.

use std::fmt;
use std::str::FromStr;

/// The namespace of every handler, with its last dot.
pub const NAMESPACE: &str = "cuga.modular.tools.";
/// The longest name, in bytes.
const MAX_BYTES: usize = 128;

/// A name in the form `cuga.modular.tools.<segment>[.<segment>…]`; a segment begins with `a` to `z` or `_` and continues
/// with these and digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandlerName(String);

impl HandlerName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HandlerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name is outside of the namespace or malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a handler is named {NAMESPACE}<name>, with segments of a-z, 0-9 and _ between dots, of at most {MAX_BYTES} bytes"
)]
pub struct InvalidHandlerName;

impl FromStr for HandlerName {
    type Err = InvalidHandlerName;

    fn from_str(text: &str) -> Result<Self, InvalidHandlerName> {
        let rest = text.strip_prefix(NAMESPACE).ok_or(InvalidHandlerName)?;
        let is_valid = text.len() <= MAX_BYTES && rest.split('.').all(is_segment);
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidHandlerName) }
    }
}

fn is_segment(segment: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let bytes = segment.as_bytes();
    bytes.first().is_some_and(is_letter)
        && bytes.iter().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    #[test]
    fn names_outside_of_the_namespace_are_rejected() {
        for odd in [
            "",
            "echo",
            "os.path.join",
            "cuga.modular.tools",
            "cuga.modular.tools.",
            "cuga.modular.tools.a.",
            "cuga.modular.tools..a",
            "cuga.modular.tools.../os",
            "cuga.modular.tools./etc/passwd",
            "../cuga.modular.tools.a",
            "/cuga.modular.tools.a",
            ".cuga.modular.tools.a",
            "cuga.modular.toolsx.a",
            "Cuga.modular.tools.a",
            "cuga.modular.tools.Text",
            "cuga.modular.tools.1a",
            "cuga.modular.tools.a-b",
            "cuga.modular.tools.a b",
            "cuga.modular.tools.a\n",
            "cuga.modular.tools.a\0",
            "cuga.modular.tools.a:b",
            "cuga/modular/tools/a",
            // Cyrillic letters, a fullwidth dot, a soft hyphen, a combining mark.
            "сuga.modular.tools.a",
            "cuga.modular.tools.tехt",
            "cuga.modular.tools．a",
            "cuga.modular.tools.te\u{ad}xt",
            "cuga.modular.tools.te\u{301}xt",
        ] {
            assert_eq!(odd.parse::<HandlerName>(), Err(InvalidHandlerName), "{odd:?}");
        }
        let long = format!("{NAMESPACE}{}", "a".repeat(MAX_BYTES));
        assert!(long.parse::<HandlerName>().is_err());
        for name in ["cuga.modular.tools.a", "cuga.modular.tools._x.y_2"] {
            assert_eq!(name.parse::<HandlerName>().unwrap().as_str(), name);
        }
    }

    proptest! {
        #[test]
        fn exactly_the_names_of_the_grammar_are_accepted(
            text in prop_oneof![
                "(cuga\\.modular\\.tools\\.)?[a-z_0-9./A-Z\\\\ -]{0,12}(\\.[a-z_0-9]{0,4}){0,3}",
                "cuga\\.modular\\.tools\\.\\PC{0,8}",
                "\\PC{0,30}",
            ],
        ) {
            let grammar =
                Regex::new(r"\A(?-u:cuga\.modular\.tools\.[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*)\z")
                    .unwrap();
            prop_assert_eq!(text.parse::<HandlerName>().is_ok(), grammar.is_match(&text));
        }
    }
}
