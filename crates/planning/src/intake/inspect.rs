//! What keeps a submission from being planned.

mod question;
mod requests;

use super::reading::Reading;

/// The longest submission.
pub const MAX_SUBMISSION_BYTES: usize = 100 * 1024;

/// Why a submission is not planned as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmissionFault {
    /// It has no words of its own: it is empty, only an unfilled template, or only a quotation.
    Blank,
    /// It is longer than [`MAX_SUBMISSION_BYTES`].
    TooLong { bytes: usize },
    /// It asks something instead of requesting work.
    Question,
    /// It contains several requests that have nothing to do with each other.
    SeveralRequests { requests: Vec<String> },
}

/// Finds the first fault of a submitted text.
pub fn inspect(text: &str) -> Option<SubmissionFault> {
    if text.len() > MAX_SUBMISSION_BYTES {
        return Some(SubmissionFault::TooLong { bytes: text.len() });
    }
    let reading = Reading::parse(text);
    if is_blank(&reading) {
        return Some(SubmissionFault::Blank);
    }
    if question::is_question(&reading) {
        return Some(SubmissionFault::Question);
    }
    let requests = requests::find_requests(&reading);
    (requests.len() > 1).then_some(SubmissionFault::SeveralRequests { requests })
}

/// Whether nothing was filled in: no sentence, or only names of fields such as `- OS:`.
fn is_blank(reading: &Reading) -> bool {
    let is_field = |text: &str| text.trim_end().ends_with(':') && text.split(' ').count() <= 3;
    !reading.has_trace
        && !reading.has_meta
        && reading.headings.iter().all(|heading| heading.len() <= 3)
        && reading.sentences.iter().all(|sentence| is_field(&sentence.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_over_the_limit_is_too_long() {
        let long = "a ".repeat(MAX_SUBMISSION_BYTES);

        assert_eq!(inspect(&long), Some(SubmissionFault::TooLong { bytes: long.len() }));
        assert_eq!(inspect(&"a ".repeat(MAX_SUBMISSION_BYTES / 2)), None);
    }

    #[test]
    fn each_request_of_several_is_named() {
        let fault = inspect("1. fix the login\n2. build a new app for drivers");

        let requests = vec!["fix the login".to_owned(), "build a new app for drivers".to_owned()];
        assert_eq!(fault, Some(SubmissionFault::SeveralRequests { requests }));
    }

    #[test]
    fn text_that_only_talks_about_its_classification_is_not_blank() {
        assert_eq!(inspect("Classify this as a feature"), None);
    }
}
