//! Deliveries as each forge signs them.

use cynode_forge::webhook::{
    ForgeEvent, IssueChange, PullRequestChange, WebhookDelivery, WebhookError, receive,
};
use cynode_forge::{CiState, ForgeKind, PullRequestState, ReviewState};
use cynode_forge_fixture::{
    ScriptedDelivery, ScriptedForgeEvent as Event, ScriptedItem, ScriptedPullState,
    ScriptedReviewState, ScriptedStatusState, commit_id,
};
use http::{HeaderMap, HeaderName};

use crate::on_each_forge;
use crate::setting::Setting;

on_each_forge!(
    events_of_issues_and_conversations_are_parsed,
    events_of_pull_requests_are_parsed,
    events_of_reviews_and_checks_are_parsed,
    a_delivery_without_the_right_signature_is_rejected,
    a_signed_delivery_with_missing_fields_is_invalid,
    a_repetition_has_the_same_id,
);

const SECRET: &str = "webhook-s3cret";

fn headers(delivery: &ScriptedDelivery) -> HeaderMap {
    let pairs = delivery.headers.iter();
    pairs
        .map(|(name, value)| (HeaderName::try_from(name).unwrap(), value.parse().unwrap()))
        .collect()
}

fn accept(it: &Setting, event: &Event) -> WebhookDelivery {
    let delivery = it.server.delivery(event, SECRET);
    let received = receive(it.kind, &headers(&delivery), &delivery.body, &SECRET.into()).unwrap();
    assert_eq!(received.repository, Some(it.repository()));
    received
}

async fn events_of_issues_and_conversations_are_parsed(it: Setting) {
    let repository = it.path.to_owned();
    let number = it.server.add_issue(it.path, "eve", "Login fails", "");
    let comment = it.server.add_comment(it.path, ScriptedItem::Issue(number), "bob", "hello");

    let opened = accept(&it, &Event::IssueOpened { repository: repository.clone(), number });
    let commented =
        accept(&it, &Event::Commented { repository: repository.clone(), number, comment });
    let pushed = accept(&it, &Event::Pushed { repository });

    assert_eq!(opened.event, ForgeEvent::IssueChanged { number, change: IssueChange::Opened });
    assert_eq!(opened.sender, "eve");
    let event = ForgeEvent::Commented { number, is_pull_request: false, comment_id: comment };
    assert_eq!((commented.event, commented.sender.as_str()), (event, "bob"));
    assert!(matches!(pushed.event, ForgeEvent::Ignored { .. }), "{:?}", pushed.event);
    assert_eq!(pushed.sender, "ada");
}

async fn events_of_pull_requests_are_parsed(it: Setting) {
    let repository = it.path.to_owned();
    let number = it.open_draft().await.number;
    let comment = it.server.add_comment(it.path, ScriptedItem::Pull(number), "bob", "hello");
    let change = |event: &Event| {
        let event = accept(&it, event).event;
        let ForgeEvent::PullRequestChanged { number: found, change, state, head_commit } = event
        else {
            panic!("{event:?}");
        };
        assert_eq!((found, head_commit), (number, Some(commit_id('b'))));
        (change, state)
    };

    let opened = change(&Event::PullOpened { repository: repository.clone(), number });
    assert_eq!(opened, (PullRequestChange::Opened, PullRequestState::Open));
    let pushed = change(&Event::PullPushed { repository: repository.clone(), number });
    assert_eq!(pushed, (PullRequestChange::Pushed, PullRequestState::Open));
    let closed = Event::PullClosed { repository: repository.clone(), number };
    it.server.set_pull_state(it.path, number, ScriptedPullState::Closed);
    assert_eq!(change(&closed), (PullRequestChange::Closed, PullRequestState::Closed));
    it.server.set_pull_state(it.path, number, ScriptedPullState::Merged);
    assert_eq!(change(&closed), (PullRequestChange::Merged, PullRequestState::Merged));

    let commented = accept(&it, &Event::Commented { repository, number, comment }).event;
    let expected = ForgeEvent::Commented { number, is_pull_request: true, comment_id: comment };
    assert_eq!(commented, expected);
}

async fn events_of_reviews_and_checks_are_parsed(it: Setting) {
    let repository = it.path.to_owned();
    let number = it.open_draft().await.number;
    let approved = ScriptedReviewState::Approved;
    let (review, comments) =
        it.server.add_review(it.path, number, "bob", approved, &[("a.rs", "look")]);
    let changes = ScriptedReviewState::ChangesRequested;
    let (rejected, _) = it.server.add_review(it.path, number, "ada", changes, &[]);

    let event = accept(&it, &Event::Reviewed { repository: repository.clone(), number, review });
    let expected = ForgeEvent::Reviewed { number, state: ReviewState::Approved };
    assert_eq!((event.event, event.sender.as_str()), (expected, "bob"));
    let event =
        accept(&it, &Event::Reviewed { repository: repository.clone(), number, review: rejected });
    // GitLab has no event for requested changes, only for approvals that end.
    let state = match it.kind {
        ForgeKind::Gitlab => ReviewState::Dismissed,
        ForgeKind::Github | ForgeKind::Gitea => ReviewState::ChangesRequested,
    };
    assert_eq!(event.event, ForgeEvent::Reviewed { number, state });

    let comment = comments[0];
    let event =
        accept(&it, &Event::ReviewCommented { repository: repository.clone(), number, comment });
    let comment_id = (it.kind != ForgeKind::Gitea).then_some(comment);
    assert_eq!(event.event, ForgeEvent::ReviewCommented { number, comment_id });

    for (state, expected) in [
        (ScriptedStatusState::Success, CiState::Passed),
        (ScriptedStatusState::Failure, CiState::Failed),
    ] {
        let commit = commit_id('b');
        let event =
            Event::CiUpdated { repository: repository.clone(), commit: commit.clone(), state };
        assert_eq!(accept(&it, &event).event, ForgeEvent::CiUpdated { commit, state: expected });
    }
}

async fn a_delivery_without_the_right_signature_is_rejected(it: Setting) {
    let number = it.server.add_issue(it.path, "eve", "Login fails", "");
    let event = Event::IssueOpened { repository: it.path.to_owned(), number };
    let delivery = it.server.delivery(&event, SECRET);
    let forged = it.server.delivery(&event, "guessed");
    let unsigned: HeaderMap = {
        let mut headers = headers(&delivery);
        for name in ["x-hub-signature-256", "x-gitea-signature", "x-gitlab-token"] {
            headers.remove(name);
        }
        headers
    };
    let receive = |headers: &HeaderMap, body: &[u8], secret: &str| {
        receive(it.kind, headers, body, &secret.into()).map(|_| ())
    };

    assert_eq!(receive(&headers(&delivery), &delivery.body, SECRET), Ok(()));
    assert_eq!(receive(&headers(&forged), &forged.body, SECRET), Err(WebhookError::WrongSignature));
    assert_eq!(receive(&unsigned, &delivery.body, SECRET), Err(WebhookError::Unsigned));
    // An empty secret would let everyone sign.
    let empty = it.server.delivery(&event, "");
    assert_eq!(receive(&headers(&empty), &empty.body, ""), Err(WebhookError::NoSecret));
    // The token of GitLab does not cover the body.
    if it.kind != ForgeKind::Gitlab {
        let mut changed = delivery.body.clone();
        *changed.last_mut().unwrap() = b' ';
        assert_eq!(
            receive(&headers(&delivery), &changed, SECRET),
            Err(WebhookError::WrongSignature)
        );
        for value in ["", "sha256=", "sha256=zz", "sha1=00", "sha256=00"] {
            let mut headers = unsigned.clone();
            headers.insert("x-hub-signature-256", value.parse().unwrap());
            let outcome = receive(&headers, &delivery.body, SECRET);
            assert_eq!(outcome, Err(WebhookError::WrongSignature), "{value:?}");
        }
    }
}

async fn a_signed_delivery_with_missing_fields_is_invalid(it: Setting) {
    let number = it.server.add_issue(it.path, "eve", "Login fails", "");
    let event = Event::IssueOpened { repository: it.path.to_owned(), number };
    for body in [
        "",
        "payload=%7B%7D",
        "[]",
        "{}",
        r#"{"object_kind":"issue","object_attributes":{"iid":"1"}}"#,
    ] {
        let mut headers = headers(&it.server.delivery(&event, SECRET));
        sign(it.kind, &mut headers, body.as_bytes());

        let outcome = receive(it.kind, &headers, body.as_bytes(), &SECRET.into());

        assert!(matches!(outcome, Err(WebhookError::Invalid(_))), "{body:?}: {outcome:?}");
    }
}

async fn a_repetition_has_the_same_id(it: Setting) {
    let number = it.server.add_issue(it.path, "eve", "Login fails", "");
    let event = Event::IssueOpened { repository: it.path.to_owned(), number };
    let delivery = it.server.delivery(&event, SECRET);
    let receive =
        |headers: &HeaderMap| receive(it.kind, headers, &delivery.body, &SECRET.into()).unwrap();
    let first = receive(&headers(&delivery));

    assert_eq!(receive(&headers(&delivery)), first);
    assert_ne!(accept(&it, &event).delivery_id, first.delivery_id);
    // Old versions of GitLab send no id.
    let mut without_id = headers(&delivery);
    for name in ["x-github-delivery", "x-gitea-delivery", "idempotency-key", "x-gitlab-event-uuid"]
    {
        without_id.remove(name);
    }
    assert_eq!(receive(&without_id).delivery_id, first.body_digest);
}

/// Signs another body.
fn sign(kind: ForgeKind, headers: &mut HeaderMap, body: &[u8]) {
    if kind == ForgeKind::Gitlab {
        return;
    }
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = hex::encode(aws_lc_rs::hmac::sign(&key, body));
    headers.remove("x-gitea-signature");
    headers.insert("x-hub-signature-256", format!("sha256={signature}").parse().unwrap());
}
