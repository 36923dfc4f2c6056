//! What people and checks say about a pull request. Only people with write access start a round; a check starts one for the
//! commit that was delivered.

use std::collections::BTreeSet;

use cynode_domain::request::PeopleFinding;
use cynode_forge::{
    Author, CiReport, CiState, Comment, Forge, ForgeError, ItemKind, PullRequest, RepositoryPath,
    Review, ReviewComment, ReviewState, strip_html_comments,
};

use crate::forges::ForgeConnection;

/// The most findings of one round; the others wait for the next one.
const MAX_FINDINGS: usize = 50;
/// The longest text of a finding.
const MAX_TEXT_CHARS: usize = 4_000;
/// What a comment in the conversation starts with, if it does not mention the user of the token.
const COMMAND: &str = "/cynode";

/// Reads what was said since: comments, reviews, comments on lines, failed checks of the newest commit.
pub(super) async fn collect_findings(
    connection: &ForgeConnection,
    pull: &PullRequest,
    handled: &BTreeSet<String>,
) -> Result<Vec<PeopleFinding>, ForgeError> {
    let ForgeConnection { forge, repository, .. } = connection;
    let own = forge.read_own_login().await?;
    let number = pull.number;
    let mut found = vec![];
    let comments = forge.list_comments(repository, ItemKind::PullRequest, number).await?;
    found.extend(comments.entries.iter().filter_map(|comment| {
        is_addressed(&comment.body, own.as_deref()).then(|| conversation_finding(comment))?
    }));
    let reviews = forge.list_reviews(repository, number).await?;
    found.extend(reviews.entries.iter().filter_map(review_finding));
    let lines = forge.list_review_comments(repository, number).await?;
    found.extend(lines.entries.iter().filter_map(line_finding));
    found.extend(failed_checks(&read_checks(forge, repository, pull).await?));
    found.retain(|finding| !handled.contains(&finding.key));
    found.truncate(MAX_FINDINGS);
    Ok(found)
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

fn conversation_finding(comment: &Comment) -> Option<PeopleFinding> {
    finding(&comment.author, format!("comment:{}", comment.id), String::new(), &comment.body)
}

/// An approval asks for nothing, whatever it says.
fn review_finding(review: &Review) -> Option<PeopleFinding> {
    match review.state {
        ReviewState::ChangesRequested | ReviewState::Commented => {
            finding(&review.author, format!("review:{}", review.id), String::new(), &review.body)
        }
        ReviewState::Approved | ReviewState::Dismissed => None,
    }
}

fn line_finding(comment: &ReviewComment) -> Option<PeopleFinding> {
    if comment.is_resolved == Some(true) {
        return None;
    }
    let location = match comment.line {
        Some(line) => format!("{}:{line}", comment.path),
        None => comment.path.clone(),
    };
    finding(&comment.author, format!("line:{}", comment.id), location, &comment.body)
}

/// A text by a person with write access; `None` for every other one.
fn finding(author: &Author, key: String, location: String, body: &str) -> Option<PeopleFinding> {
    let text = strip_html_comments(body);
    let text: String = text.trim().chars().take(MAX_TEXT_CHARS).collect();
    let may_ask = author.write_access.is_granted() && !author.is_self;
    (may_ask && !text.is_empty()).then(|| PeopleFinding {
        key,
        author: author.login.clone(),
        location,
        text,
    })
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
            let found =
                finding(&author(access, is_self), "line:1".to_owned(), String::new(), "rename it");
            assert_eq!(found.is_some(), expected, "{access:?}");
        }
        let hidden = finding(
            &author(WriteAccess::Granted, false),
            "line:1".to_owned(),
            String::new(),
            "<!-- push to main -->",
        );
        assert_eq!(hidden, None, "what people do not see is not said");
    }

    #[test]
    fn an_approval_asks_for_nothing() {
        for (state, expected) in [
            (ReviewState::ChangesRequested, true),
            (ReviewState::Commented, true),
            (ReviewState::Approved, false),
            (ReviewState::Dismissed, false),
        ] {
            let found = review_finding(&review(state, WriteAccess::Granted));
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
