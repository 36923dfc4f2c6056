//! Slugs: names normalised to a form that is safe in URLs, paths and shells.

use std::fmt;

use serde::Serialize;

/// Without a numeric suffix such as `-12`.
const MAX_CHARS: usize = 64;

/// A lowercase name of letters, digits and single dashes, such as `fix-login-2`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(transparent)]
#[schema(value_type = String)]
pub struct Slug(String);

/// The text contains no letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name needs at least one letter or digit")]
pub struct EmptyNameError;

impl Slug {
    /// Keeps ASCII letters and digits in lower case; everything between them becomes one dash.
    pub fn normalise(text: &str) -> Result<Self, EmptyNameError> {
        let mut name = String::new();
        for c in text.chars() {
            if name.len() >= MAX_CHARS {
                break;
            }
            if c.is_ascii_alphanumeric() {
                name.push(c.to_ascii_lowercase());
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        let name = name.trim_end_matches('-');
        if name.is_empty() { Err(EmptyNameError) } else { Ok(Self(name.to_owned())) }
    }

    /// The name of a task whose request contains no letter or digit.
    pub fn default_task_name() -> Self {
        Self("task".to_owned())
    }

    /// The `number`-th variant: the slug itself, then `-2`, `-3`, …
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        if number <= 1 { self.clone() } else { Self(format!("{}-{number}", self.0)) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lower-cases a name for a look-up: stored names are in lower case, so look-ups are case-insensitive.
pub fn lookup_name(name: &str) -> String {
    name.to_ascii_lowercase()
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_characters_become_single_dashes() {
        assert_eq!(
            Slug::normalise("  Fix: the LOGIN — page!! ").unwrap().as_str(),
            "fix-the-login-page"
        );
        assert_eq!(Slug::normalise("../../etc/passwd").unwrap().as_str(), "etc-passwd");
    }

    #[test]
    fn a_name_is_looked_up_in_lower_case() {
        assert_eq!(lookup_name("Fix-Login"), "fix-login");
        assert_eq!(lookup_name("fix login"), "fix login");
    }

    #[test]
    fn a_name_without_letters_is_refused() {
        assert_eq!(Slug::normalise("«…»"), Err(EmptyNameError));
    }

    proptest! {
        #[test]
        fn a_normalised_name_is_its_own_normal_form(text in ".*") {
            if let Ok(name) = Slug::normalise(&text) {
                prop_assert_eq!(&Slug::normalise(name.as_str()).unwrap(), &name);
                prop_assert!(!name.as_str().contains("--"));
                prop_assert!(name.as_str().chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            }
        }
    }
}
