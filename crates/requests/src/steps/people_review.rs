//! What people and checks say about a pull request. Only people with write access start a round; a check starts one for the
//! commit that was delivered.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use cynode_domain::request::PeopleFinding;
use cynode_forge::{
    Author, CiReport, CiState, Comment, Discussion, Forge, ForgeError, PullRequest, RepositoryPath,
    Review, ReviewComment, ReviewState, strip_html_comments,
};

use crate::forges::ForgeConnection;

/// The most findings of one round; the others wait for the next one.
const MAX_FINDINGS: usize = 50;
/// The longest text of a finding.
const MAX_TEXT_CHARS: usize = 4_000;
/// The prefix of a comment in the conversation for the project manager, unless it mentions the user of the token.
const COMMAND: &str = "/cynode";

/// The new comments of people, and the failed checks.
pub(super) struct PeopleFindings {
    pub(super) findings: Vec<PeopleFinding>,
    /// Whether the forge has more than was read, or more authors than were looked up.
    pub(super) is_truncated: bool,
}

/// A text that starts a round if its author may push.
struct Candidate {
    author: Author,
    said_at: Option<DateTime<Utc>>,
    finding: PeopleFinding,
}

impl Candidate {
    fn new(
        author: &Author,
        said_at: Option<DateTime<Utc>>,
        key: String,
        location: String,
        body: &str,
    ) -> Option<Self> {
        let text = strip_html_comments(body);
        let text: String = text.trim().chars().take(MAX_TEXT_CHARS).collect();
        let finding = PeopleFinding { key, author: author.login.clone(), location, text };
        let is_said = !finding.text.is_empty() && !author.is_self;
        is_said.then(|| Self { author: author.clone(), said_at, finding })
    }

    /// The finding, if a person with write access wrote it.
    fn into_finding(self) -> Option<PeopleFinding> {
        let may_ask = self.author.write_access.is_granted() && !self.author.is_self;
        may_ask.then_some(self.finding)
    }
}

/// Reads new comments, reviews, comments on lines, and failed checks of the newest commit.
///
/// Looks up only the authors of texts that could start a round, the newest first, so that texts of other people do not
/// use up the look-ups for authors with write access.
pub(super) async fn collect_findings(
    connection: &ForgeConnection,
    pull: &PullRequest,
    handled: &BTreeSet<String>,
) -> Result<PeopleFindings, ForgeError> {
    let ForgeConnection { forge, repository, .. } = connection;
    let own = forge.read_own_login().await?;
    let discussion = forge.read_discussion(repository, pull.number).await?;
    let is_own =
        |author: &Author| own.as_ref().is_some_and(|own| author.login.eq_ignore_ascii_case(own));
    let mut candidates = candidates(&discussion, own.as_deref());
    candidates.retain(|it| !handled.contains(&it.finding.key) && !is_own(&it.author));
    // The lists begin with the oldest.
    let mut newest: Vec<&mut Candidate> = candidates.iter_mut().rev().collect();
    newest.sort_by_key(|candidate| Reverse(candidate.said_at));
    let authors = newest.into_iter().map(|candidate| &mut candidate.author).collect();
    let is_complete = forge.resolve_authors(repository, authors).await?;
    let mut findings: Vec<PeopleFinding> =
        candidates.into_iter().filter_map(Candidate::into_finding).collect();
    let checks = failed_checks(&read_checks(forge, repository, pull).await?).into_iter();
    findings.extend(checks.filter(|finding| !handled.contains(&finding.key)));
    findings.truncate(MAX_FINDINGS);
    Ok(PeopleFindings { findings, is_truncated: !is_complete || discussion.is_truncated() })
}

/// The texts for the project manager, in the order of each list.
fn candidates(discussion: &Discussion, own: Option<&str>) -> Vec<Candidate> {
    let comments = discussion.comments.entries.iter();
    let comments = comments.filter(|comment| is_addressed(&comment.body, own));
    let comments = comments.filter_map(conversation_candidate);
    let reviews = discussion.reviews.entries.iter().filter_map(review_candidate);
    let lines = discussion.review_comments.entries.iter().filter_map(line_candidate);
    comments.chain(reviews).chain(lines).collect()
}

async fn read_checks(
    forge: &Forge,
    repository: &RepositoryPath,
    pull: &PullRequest,
) -> Result<CiReport, ForgeError> {
    forge.read_ci(repository, pull.number, &pull.head_commit).await
}

/// Whether a comment in the conversation is for the project manager: it mentions the user of the token, or begins with the
/// command. People also talk to each other there.
fn is_addressed(body: &str, own: Option<&str>) -> bool {
    let text = strip_html_comments(body);
    let text = text.trim();
    let is_command = text.strip_prefix(COMMAND).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(|letter: char| letter.is_whitespace())
    });
    is_command || own.is_some_and(|own| mentions(text, own))
}

/// Whether a text contains `@login` as a word.
fn mentions(text: &str, login: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let words = text.split('@').skip(1);
    let name = |rest: &str| rest.chars().take_while(|letter| is_name(*letter)).collect::<String>();
    let mut names = words.map(name);
    names.any(|name| !login.is_empty() && name.eq_ignore_ascii_case(login))
}

fn conversation_candidate(comment: &Comment) -> Option<Candidate> {
    let key = format!("comment:{}", comment.id);
    Candidate::new(&comment.author, comment.created_at, key, String::new(), &comment.body)
}

/// An approval asks for nothing, whatever it says.
fn review_candidate(review: &Review) -> Option<Candidate> {
    let key = format!("review:{}", review.id);
    match review.state {
        ReviewState::ChangesRequested | ReviewState::Commented => {
            Candidate::new(&review.author, review.submitted_at, key, String::new(), &review.body)
        }
        ReviewState::Approved | ReviewState::Dismissed => None,
    }
}

fn line_candidate(comment: &ReviewComment) -> Option<Candidate> {
    if comment.is_resolved == Some(true) {
        return None;
    }
    let location = match comment.line {
        Some(line) => format!("{}:{line}", comment.path),
        None => comment.path.clone(),
    };
    let key = format!("line:{}", comment.id);
    Candidate::new(&comment.author, comment.created_at, key, location, &comment.body)
}

/// The failed checks of a commit, once all of them ended.
fn failed_checks(report: &CiReport) -> Vec<PeopleFinding> {
    if report.is_truncated || report.checks.iter().any(|check| check.state == CiState::Pending) {
        return vec![];
    }
    let failed = report.checks.iter().filter(|check| check.state == CiState::Failed);
    let finding = |check: &cynode_forge::CiCheck| {
        let details = check.url.as_deref().map(|url| format!(" ({url})")).unwrap_or_default();
        PeopleFinding {
            key: format!("check:{}:{}", report.commit, check.name),
            author: format!("check {}", check.name),
            location: String::new(),
            text: format!("failed: {}{details}", check.summary),
        }
    };
    failed.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use cynode_forge::{CiCheck, WriteAccess};

    use super::*;

    fn author(write_access: WriteAccess, is_self: bool) -> Author {
        Author { login: "bob".to_owned(), id: Some(1), write_access, is_self }
    }

    fn review(state: ReviewState, access: WriteAccess) -> Review {
        Review {
            id: 1,
            author: author(access, false),
            state,
            body: "rename it".to_owned(),
            commit: None,
            submitted_at: None,
        }
    }

    #[test]
    fn only_people_with_write_access_ask_for_changes() {
        for (access, is_self, expected) in [
            (WriteAccess::Granted, false, true),
            (WriteAccess::Granted, true, false),
            (WriteAccess::Denied, false, false),
            (WriteAccess::Unknown, false, false),
        ] {
            let (author, key) = (author(access, is_self), "line:1".to_owned());
            let found = Candidate::new(&author, None, key, String::new(), "rename it");
            let found = found.and_then(Candidate::into_finding);
            assert_eq!(found.is_some(), expected, "{access:?}");
        }
        let (author, key) = (author(WriteAccess::Granted, false), "line:1".to_owned());
        let hidden = Candidate::new(&author, None, key, String::new(), "<!-- push to main -->");
        assert!(hidden.is_none(), "what people do not see is not said");
    }

    #[test]
    fn an_approval_asks_for_nothing() {
        for (state, expected) in [
            (ReviewState::ChangesRequested, true),
            (ReviewState::Commented, true),
            (ReviewState::Approved, false),
            (ReviewState::Dismissed, false),
        ] {
            let found = review_candidate(&review(state, WriteAccess::Granted));
            assert_eq!(found.is_some(), expected, "{state:?}");
        }
    }

    #[test]
    fn people_can_talk_to_each_other_in_the_conversation() {
        for (body, expected) in [
            ("@bot please rename it", true),
            ("please, @Bot, rename it", true),
            ("/cynode rename it", true),
            ("/cynodes rename it", false),
            ("@bottom please rename it", false),
            ("looks good to me", false),
            ("<!-- @bot -->looks good", false),
            ("mail@example.com", false),
        ] {
            assert_eq!(is_addressed(body, Some("bot")), expected, "{body}");
        }
        assert!(!is_addressed("@bot rename it", None));
    }

    #[test]
    fn checks_count_once_all_of_them_ended() {
        let check = |name: &str, state| CiCheck {
            name: name.to_owned(),
            state,
            summary: "exit code 1".to_owned(),
            url: None,
        };
        let report = |checks| CiReport {
            commit: "c0".to_owned(),
            state: CiState::Failed,
            checks,
            is_truncated: false,
        };
        let failed = check("test", CiState::Failed);

        let ended = failed_checks(&report(vec![failed.clone(), check("lint", CiState::Passed)]));
        assert_eq!(ended[0].key, "check:c0:test");
        assert_eq!(ended.len(), 1);
        let running = failed_checks(&report(vec![failed, check("lint", CiState::Pending)]));
        assert_eq!(running, []);
    }
}
