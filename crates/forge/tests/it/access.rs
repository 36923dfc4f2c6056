//! Write access of users, tokens with too few permissions, and the token's own user.

use cynode_forge::{
    CommentMarker, ForgeError, ForgeKind, ForgeLimits, ItemKind, Readiness, WriteAccess,
};
use cynode_forge_fixture::{
    FaultKind, ScriptedFault, ScriptedItem, ScriptedPermission, TokenScope,
};

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, new_pull_request};

on_each_forge!(
    write_access_follows_the_permissions_of_the_repository,
    a_token_that_does_not_administer_the_repository_still_learns_who_may_write,
    a_token_that_may_only_read_is_told_which_permission_is_missing,
    a_wrong_token_is_unauthorized,
    write_access_that_cannot_be_looked_up_is_unknown,
    the_number_of_lookups_is_bounded,
    a_token_that_does_not_know_its_user_still_finds_its_comment,
);

async fn write_access_follows_the_permissions_of_the_repository(it: Setting) {
    for (login, expected) in [
        ("ada", WriteAccess::Granted),
        ("bob", WriteAccess::Granted),
        ("eve", WriteAccess::Denied),
        ("mallory", WriteAccess::Denied),
        ("does-not-exist", WriteAccess::Denied),
    ] {
        let access = it.forge.read_write_access(&it.repository(), login).await;
        assert_eq!(access, Ok(expected), "{login}");
    }
    it.server.set_permission(it.path, "bob", ScriptedPermission::Read);
    let access = it.forge.read_write_access(&it.repository(), "bob").await;
    assert_eq!(access, Ok(WriteAccess::Denied));
    // A name from an issue cannot become another request.
    for login in ["..", "bob/../../ada", "", "a?b"] {
        let access = it.forge.read_write_access(&it.repository(), login).await;
        assert_eq!(access, Ok(WriteAccess::Denied), "{login:?}");
    }
}

async fn a_token_that_does_not_administer_the_repository_still_learns_who_may_write(it: Setting) {
    it.server.set_permission(it.path, "bot", ScriptedPermission::Write);

    for (login, expected) in [("bob", WriteAccess::Granted), ("eve", WriteAccess::Denied)] {
        let access = it.forge.read_write_access(&it.repository(), login).await;
        assert_eq!(access, Ok(expected), "{login}");
    }
}

async fn a_token_that_may_only_read_is_told_which_permission_is_missing(it: Setting) {
    it.server.set_token_scope(TOKEN, TokenScope::ReadOnly);
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let marker = CommentMarker::new("x").unwrap();
    it.forge.read_issue(&it.repository(), number).await.unwrap();

    let comment =
        it.forge.ensure_comment(&it.repository(), ItemKind::Issue, number, &marker, "x").await;
    let new = new_pull_request(Readiness::Draft);
    let pull = it.forge.ensure_pull_request(&it.repository(), &new).await;

    let (for_comment, for_pull) = match it.kind {
        ForgeKind::Github => ("issues=write", "pull_requests=write"),
        ForgeKind::Gitlab => ("api", "api"),
        ForgeKind::Gitea => ("write:issue", "write:repository"),
    };
    for (error, permission) in [(comment.unwrap_err(), for_comment), (pull.unwrap_err(), for_pull)]
    {
        let ForgeError::Unauthorized { missing_permission, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(missing_permission.as_deref(), Some(permission));
        assert!(error.to_string().contains(permission) && !error.is_retryable());
    }
    assert_eq!(it.server.comments(it.path, ScriptedItem::Issue(number)).len(), 0);
}

async fn a_wrong_token_is_unauthorized(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let forge = it.connect_with("wr0ng-t0ken", ForgeLimits::default());

    let refused = forge.read_issue(&it.repository(), number).await.unwrap_err();

    assert!(matches!(refused, ForgeError::Unauthorized { .. }), "{refused:?}");
    assert!(!format!("{refused:?} {refused} {forge:?}").contains("wr0ng-t0ken"));
}

async fn write_access_that_cannot_be_looked_up_is_unknown(it: Setting) {
    let number = it.server.add_issue(it.path, "eve", "Login fails", "");
    it.server.add_comment(it.path, ScriptedItem::Issue(number), "bob", "hello");
    for part in ["/permission", "/members/", "/assignees"] {
        let kind = FaultKind::Forbidden { message: "no".to_owned() };
        it.server.fail(ScriptedFault::always("GET", part, kind));
    }

    let issue = it.forge.read_issue(&it.repository(), number).await.unwrap();

    let access = issue.comments.entries[0].author.write_access;
    assert_eq!((access, access.is_granted()), (WriteAccess::Unknown, false));
}

async fn the_number_of_lookups_is_bounded(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    for index in 0..6 {
        let login = format!("user{index}");
        it.server.add_user(&login, &format!("token{index}"));
        it.server.set_permission(it.path, &login, ScriptedPermission::Write);
        it.server.add_comment(it.path, ScriptedItem::Issue(number), &login, "hello");
    }
    let limits = ForgeLimits { max_lookups: 3, ..ForgeLimits::default() };

    let issue = it.connect_with(TOKEN, limits).read_issue(&it.repository(), number).await.unwrap();

    let comments = issue.comments.entries.iter();
    let granted = comments.filter(|comment| comment.author.write_access.is_granted()).count();
    // The association of GitHub tells without a lookup that the author of the issue owns the repository.
    let expected = if it.kind == ForgeKind::Github { 3 } else { 2 };
    assert_eq!(granted, expected);
    assert_eq!(issue.comments.entries[5].author.write_access, WriteAccess::Unknown);
}

async fn a_token_that_does_not_know_its_user_still_finds_its_comment(it: Setting) {
    let kind = FaultKind::Forbidden { message: "Resource not accessible".to_owned() };
    it.server.fail(ScriptedFault::always("GET", "/user", kind));
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let marker = CommentMarker::new("request/1").unwrap();
    it.server.add_comment(it.path, ScriptedItem::Issue(number), "mallory", &marker.line());

    for is_new in [true, false] {
        let outcome = it
            .forge
            .ensure_comment(&it.repository(), ItemKind::Issue, number, &marker, "Done.")
            .await
            .unwrap();
        assert_eq!(outcome.is_new, is_new);
    }
    assert_eq!(it.forge.read_own_login().await, Ok(None));
}
