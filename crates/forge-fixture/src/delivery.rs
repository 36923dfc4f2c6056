//! Deliveries of webhooks, with the headers, payloads and signatures of each forge.

mod gitea;
mod github;
mod gitlab;

use aws_lc_rs::hmac;
use serde_json::Value;

use crate::world::{
    ForgeWorld, RepositoryRow, ReviewCommentRow, ReviewRow, ScriptedComment, ScriptedForgeApi,
    ScriptedPullRequest, ScriptedPullState, ScriptedStatusState,
};

/// What happened on the forge. Its state must fit already, for example a merged pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedForgeEvent {
    IssueOpened {
        repository: String,
        number: u64,
    },
    Commented {
        repository: String,
        number: u64,
        comment: u64,
    },
    PullOpened {
        repository: String,
        number: u64,
    },
    PullPushed {
        repository: String,
        number: u64,
    },
    /// Merged or closed, as the pull request is.
    PullClosed {
        repository: String,
        number: u64,
    },
    /// On GitLab only approvals have an event.
    Reviewed {
        repository: String,
        number: u64,
        review: u64,
    },
    ReviewCommented {
        repository: String,
        number: u64,
        comment: u64,
    },
    CiUpdated {
        repository: String,
        commit: String,
        state: ScriptedStatusState,
    },
    /// Commits of a branch, which no pull request needs to have.
    Pushed {
        repository: String,
    },
}

/// A delivery, ready to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedDelivery {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Name of the event (GitHub), its type (Gitea) or its title (GitLab), and the payload.
pub(crate) struct EventPayload {
    pub(crate) name: &'static str,
    /// Gitea: the finer type.
    pub(crate) event_type: &'static str,
    pub(crate) payload: Value,
}

pub(crate) fn build(
    world: &ForgeWorld,
    event: &ScriptedForgeEvent,
    secret: &str,
    id: u64,
) -> ScriptedDelivery {
    let subject = EventSubject::find(world, event);
    let built = match world.api {
        ScriptedForgeApi::Github => github::payload(world, event, &subject),
        ScriptedForgeApi::Gitlab => gitlab::payload(world, event, &subject),
        ScriptedForgeApi::Gitea => gitea::payload(world, event, &subject),
    };
    let body = built.payload.to_string().into_bytes();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = hex::encode(hmac::sign(&key, &body));
    let id = format!("00000000-0000-7000-8000-{id:012}");
    let headers: Vec<(&str, String)> = match world.api {
        ScriptedForgeApi::Github => vec![
            ("x-github-event", built.name.to_owned()),
            ("x-github-delivery", id),
            ("x-hub-signature-256", format!("sha256={signature}")),
        ],
        ScriptedForgeApi::Gitlab => vec![
            ("x-gitlab-event", built.name.to_owned()),
            ("x-gitlab-event-uuid", format!("{id}-event")),
            ("idempotency-key", id),
            ("x-gitlab-token", secret.to_owned()),
        ],
        ScriptedForgeApi::Gitea => vec![
            ("x-gitea-event", built.name.to_owned()),
            ("x-gitea-event-type", built.event_type.to_owned()),
            ("x-gitea-delivery", id),
            ("x-gitea-signature", signature.clone()),
            ("x-hub-signature-256", format!("sha256={signature}")),
        ],
    };
    let content_type = ("content-type".to_owned(), "application/json".to_owned());
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value));
    ScriptedDelivery { headers: headers.chain([content_type]).collect(), body }
}

/// The rows that an event is about.
pub(crate) struct EventSubject<'w> {
    pub(crate) repository: &'w RepositoryRow,
    pub(crate) number: u64,
    pub(crate) pull: Option<&'w ScriptedPullRequest>,
    pub(crate) comment: Option<&'w ScriptedComment>,
    pub(crate) review: Option<&'w ReviewRow>,
    pub(crate) review_comment: Option<&'w ReviewCommentRow>,
    pub(crate) sender: String,
}

impl<'w> EventSubject<'w> {
    fn find(world: &'w ForgeWorld, event: &ScriptedForgeEvent) -> Self {
        use ScriptedForgeEvent as E;
        let (path, number, id) = match event {
            E::IssueOpened { repository, number }
            | E::PullOpened { repository, number }
            | E::PullPushed { repository, number }
            | E::PullClosed { repository, number } => (repository, *number, 0),
            E::Commented { repository, number, comment }
            | E::ReviewCommented { repository, number, comment } => (repository, *number, *comment),
            E::Reviewed { repository, number, review } => (repository, *number, *review),
            E::CiUpdated { repository, .. } | E::Pushed { repository } => (repository, 0, 0),
        };
        let Some(row) = world.repositories.get(path) else { panic!("no repository {path}") };
        let comments = [row.issue_comments.get(&number), row.pull_comments.get(&number)];
        let mut comments = comments.into_iter().flatten().flatten();
        let has_comment =
            row.pull_comments.get(&number).into_iter().flatten().any(|it| it.id == id);
        let is_pull = match event {
            E::IssueOpened { .. } => false,
            E::Commented { .. } => has_comment,
            E::PullOpened { .. }
            | E::PullPushed { .. }
            | E::PullClosed { .. }
            | E::Reviewed { .. }
            | E::ReviewCommented { .. }
            | E::CiUpdated { .. }
            | E::Pushed { .. } => true,
        };
        let reviews = row.reviews.get(&number).into_iter().flatten();
        let mut review_comments = reviews.clone().flat_map(|review| &review.comments);
        let mut subject = Self {
            repository: row,
            number,
            pull: row.pulls.get(&number).filter(|_| is_pull),
            comment: comments.find(|comment| comment.id == id),
            review: reviews.clone().find(|review| review.id == id),
            review_comment: review_comments.find(|comment| comment.id == id),
            sender: String::new(),
        };
        subject.sender = subject.author().cloned().unwrap_or_else(|| "ada".to_owned());
        subject
    }

    fn author(&self) -> Option<&'w String> {
        let comment = self.comment.map(|comment| &comment.author);
        let review = self.review.map(|review| &review.author);
        let review_comment = self.review_comment.map(|comment| &comment.author);
        let pull = self.pull.map(|pull| &pull.author);
        let issue = self.repository.issues.get(&self.number).map(|issue| &issue.author);
        comment.or(review).or(review_comment).or(pull).or(issue)
    }

    pub(crate) fn is_merged(&self) -> bool {
        self.pull.is_some_and(|pull| pull.state == ScriptedPullState::Merged)
    }
}
