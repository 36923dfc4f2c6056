//! Long lists and large answers.

use cynode_forge::{ForgeError, ForgeKind, ForgeLimits};
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedItem};

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, small_pages};

on_each_forge!(
    long_conversations_are_read_page_by_page_up_to_the_limit,
    pages_larger_than_the_forge_allows_lose_nothing,
    an_answer_that_is_too_large_is_not_read,
);

async fn long_conversations_are_read_page_by_page_up_to_the_limit(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    for index in 0..8 {
        it.server.add_comment(
            it.path,
            ScriptedItem::Issue(number),
            "bob",
            &format!("comment {index}"),
        );
    }

    for max_pages in [4, 2] {
        let forge = it.connect_with(TOKEN, small_pages(max_pages));
        let comments = forge.read_issue(&it.repository(), number).await.unwrap().comments;
        let bodies: Vec<_> = comments.entries.iter().map(|it| it.body.clone()).collect();
        let (count, is_truncated) = match (it.kind, max_pages) {
            // Gitea lists all comments in one answer.
            (ForgeKind::Gitea, _) | (_, 4) => (8, false),
            (ForgeKind::Github, _) => (6, true),
            // One entry is a note of GitLab itself.
            (ForgeKind::Gitlab, _) => (5, true),
        };
        let expected: Vec<_> = (0..count).map(|index| format!("comment {index}")).collect();
        assert_eq!((bodies, comments.is_truncated), (expected, is_truncated), "{max_pages}");
    }
}

async fn pages_larger_than_the_forge_allows_lose_nothing(it: Setting) {
    let first = it.open_draft().await.number;
    for index in 0..120 {
        it.server.add_pull_request(it.path, "bob", &format!("other-{index}"), None);
    }
    let limits = ForgeLimits { page_size: 200, ..ForgeLimits::default() };
    let forge = it.connect_with(TOKEN, limits);

    let found = forge
        .find_pull_request(
            &it.repository(),
            &"cynode/task-1".parse().unwrap(),
            cynode_forge::PullRequestFilter::Open,
        )
        .await
        .unwrap();

    assert_eq!(found.map(|pull| pull.number), Some(first));
}

async fn an_answer_that_is_too_large_is_not_read(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let limits = ForgeLimits { max_response_bytes: 64 << 10, ..ForgeLimits::default() };
    let forge = it.connect_with(TOKEN, limits);
    forge.read_issue(&it.repository(), number).await.unwrap();
    let kinds = [
        FaultKind::Huge { bytes: 1 << 20 },
        FaultKind::Body(" ".repeat(1 << 20)),
        FaultKind::Status(500),
    ];
    for (kind, is_too_large) in kinds.into_iter().zip([true, true, false]) {
        it.server.fail(ScriptedFault::once("GET", "/issues", kind));
        let refused = forge.read_issue(&it.repository(), number).await.unwrap_err();
        let is_invalid = matches!(refused, ForgeError::InvalidAnswer { .. });
        assert_eq!(is_invalid, is_too_large, "{refused:?}");
    }
}
