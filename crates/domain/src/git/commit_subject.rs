//! The first line of a commit message.

use serde::{Deserialize, Serialize};

use crate::text::ellipsize_chars;

/// The longest subject, in characters.
pub(super) const MAX_SUBJECT_CHARS: usize = 100;

/// One line of 1 to `MAX_SUBJECT_CHARS` characters without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitSubject(String);

/// A text that is not a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a commit subject must be one line of 1 to {MAX_SUBJECT_CHARS} characters")]
pub struct InvalidCommitSubject;

impl CommitSubject {
    /// The first line of a text that is not blank, shortened; `None` if there is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let subject = ellipsize_chars(line.trim_start_matches(['#', ' ']), MAX_SUBJECT_CHARS);
        Self::try_from(subject.into_owned()).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CommitSubject {
    type Error = InvalidCommitSubject;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_valid = !text.trim().is_empty()
            && text.chars().count() <= MAX_SUBJECT_CHARS
            && !text.chars().any(char::is_control);
        if is_valid { Ok(Self(text)) } else { Err(InvalidCommitSubject) }
    }
}

impl From<CommitSubject> for String {
    fn from(subject: CommitSubject) -> Self {
        subject.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_text_becomes_a_subject() {
        let subject = |text: &str| CommitSubject::from_text(text).map(String::from);

        assert_eq!(subject("\n# Add a page\n\nMore."), Some("Add a page".to_owned()));
        assert_eq!(subject("a\u{1b}[2Jb"), Some("a[2Jb".to_owned()));
        assert_eq!(subject(&"x".repeat(300)).unwrap().chars().count(), MAX_SUBJECT_CHARS);
        assert_eq!((subject(" \n"), subject("##")), (None, None));
        for invalid in ["", " ", "two\nlines", &"x".repeat(101)] {
            assert_eq!(
                CommitSubject::try_from(invalid.to_owned()),
                Err(InvalidCommitSubject),
                "{invalid}"
            );
        }
    }
}
