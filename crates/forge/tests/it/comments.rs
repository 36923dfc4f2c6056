//! Comments that are written once.

use cynode_forge::{CommentMarker, ForgeError, ForgeKind, ForgeLimits, ItemKind};
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedItem};

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, small_pages};

on_each_forge!(
    a_comment_is_written_once_although_its_answers_are_lost,
    a_comment_of_another_user_with_the_marker_does_not_count,
    comments_with_other_markers_are_independent,
    a_comment_is_not_written_if_earlier_ones_cannot_be_seen,
    a_long_comment_is_cut_and_keeps_its_marker,
    a_comment_on_nothing_is_not_found,
);

fn marker() -> CommentMarker {
    CommentMarker::new("request/1:summary").unwrap()
}

async fn a_comment_is_written_once_although_its_answers_are_lost(it: Setting) {
    let issue = it.server.add_issue(it.path, "ada", "Login fails", "");
    let pull = it.open_draft().await.number;
    let segment = if it.kind == ForgeKind::Gitlab { "/notes" } else { "/comments" };
    let items = [
        (ItemKind::Issue, issue, ScriptedItem::Issue(issue)),
        (ItemKind::PullRequest, pull, ScriptedItem::Pull(pull)),
    ];
    for (kind, number, item) in items {
        it.server.fail(ScriptedFault::once("POST", segment, FaultKind::CutAfterApply));
        let lost =
            it.forge.ensure_comment(&it.repository(), kind, number, &marker(), "Done.").await;
        let Err(ForgeError::Unavailable { may_have_applied: true, .. }) = lost else {
            panic!("{lost:?}");
        };

        // Another process takes over.
        let forge = it.connect_with(TOKEN, ForgeLimits::default());
        let found =
            forge.ensure_comment(&it.repository(), kind, number, &marker(), "Done.").await.unwrap();

        assert!(!found.is_new);
        let comments = it.server.comments(it.path, item);
        assert_eq!(comments.len(), 1, "{comments:?}");
        assert_eq!(comments[0].id, found.id);
        assert_eq!(comments[0].body, "Done.\n\n<!-- cynode:request/1:summary -->");
    }
}

async fn a_comment_of_another_user_with_the_marker_does_not_count(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    it.server.add_comment(
        it.path,
        ScriptedItem::Issue(number),
        "mallory",
        &format!("mine\n{}", marker().line()),
    );
    it.server.add_comment(it.path, ScriptedItem::Issue(number), "bob", &marker().line());

    let written = it
        .forge
        .ensure_comment(&it.repository(), ItemKind::Issue, number, &marker(), "Done.")
        .await
        .unwrap();

    assert!(written.is_new && written.url.is_some());
    assert_eq!(it.server.comments(it.path, ScriptedItem::Issue(number)).len(), 3);
}

async fn comments_with_other_markers_are_independent(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let other = CommentMarker::new("request/1:question").unwrap();

    for marker in [marker(), other, marker()] {
        it.forge
            .ensure_comment(&it.repository(), ItemKind::Issue, number, &marker, "Hi")
            .await
            .unwrap();
    }

    assert_eq!(it.server.comments(it.path, ScriptedItem::Issue(number)).len(), 2);
}

async fn a_comment_is_not_written_if_earlier_ones_cannot_be_seen(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    for index in 0..9 {
        it.server.add_comment(
            it.path,
            ScriptedItem::Issue(number),
            "bob",
            &format!("comment {index}"),
        );
    }
    let forge = it.connect_with(TOKEN, small_pages(2));

    let outcome =
        forge.ensure_comment(&it.repository(), ItemKind::Issue, number, &marker(), "Done.").await;

    // Gitea lists all comments in one answer.
    match it.kind {
        ForgeKind::Gitea => assert!(outcome.unwrap().is_new),
        ForgeKind::Github | ForgeKind::Gitlab => {
            assert_eq!(outcome, Err(ForgeError::TooMany { what: "comments" }));
            assert_eq!(it.server.comments(it.path, ScriptedItem::Issue(number)).len(), 9);
        }
    }
}

async fn a_long_comment_is_cut_and_keeps_its_marker(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let body = "é".repeat(100_000);

    for is_new in [true, false] {
        let outcome = it
            .forge
            .ensure_comment(&it.repository(), ItemKind::Issue, number, &marker(), &body)
            .await
            .unwrap();
        assert_eq!(outcome.is_new, is_new);
    }
}

async fn a_comment_on_nothing_is_not_found(it: Setting) {
    for kind in [ItemKind::Issue, ItemKind::PullRequest] {
        let outcome = it.forge.ensure_comment(&it.repository(), kind, 99, &marker(), "Hi").await;
        assert!(matches!(outcome, Err(ForgeError::NotFound { .. })), "{outcome:?}");
    }
}
