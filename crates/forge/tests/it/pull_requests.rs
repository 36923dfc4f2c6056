//! Opening, finding and changing pull requests.

use cynode_forge::{
    ForgeError, ForgeKind, ForgeLimits, Mergeability, NewPullRequest, PullRequestFilter,
    PullRequestState, PullRequestUpdate, Readiness,
};
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedPullState, commit_id};

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, impatient, new_pull_request, small_pages};

on_each_forge!(
    a_draft_is_opened_changed_and_marked_as_ready,
    a_restart_never_opens_a_second_pull_request,
    concurrent_calls_open_one_pull_request,
    a_pull_request_that_the_list_does_not_show_yet_is_found_by_its_rejection,
    pull_requests_of_forks_and_other_branches_do_not_count,
    a_closed_pull_request_is_found_only_if_asked_for,
    a_branch_that_does_not_exist_is_an_error_that_no_retry_repairs,
    an_older_pull_request_is_found_on_a_later_page,
    state_head_and_conflicts_follow_the_forge,
    a_title_of_a_ready_pull_request_does_not_make_it_a_draft,
    the_default_branch_is_that_of_the_repository,
);

async fn a_draft_is_opened_changed_and_marked_as_ready(it: Setting) {
    let repository = it.repository();
    let opened = it
        .forge
        .ensure_pull_request(&repository, &new_pull_request(Readiness::Draft))
        .await
        .unwrap();

    let pull = opened.pull_request;
    assert!(opened.is_new);
    assert_eq!((pull.title.as_str(), pull.body.as_str()), ("Add login", "Closes #1"));
    assert_eq!((pull.state, pull.readiness), (PullRequestState::Open, Readiness::Draft));
    assert_eq!((pull.head_branch.as_str(), pull.base_branch.as_str()), ("cynode/task-1", "main"));
    assert_eq!(pull.head_commit.as_str(), commit_id('b'));
    assert_eq!((pull.author.as_str(), pull.is_from_fork), ("bot", false));
    let stored = &it.server.pull_requests(it.path)[0];
    let title = match it.kind {
        ForgeKind::Github => "Add login",
        ForgeKind::Gitlab => "Draft: Add login",
        ForgeKind::Gitea => "WIP: Add login",
    };
    assert!(stored.is_draft);
    assert_eq!(stored.title, title);

    let update = PullRequestUpdate { title: Some("Add\nsign-in".to_owned()), body: None };
    let changed = it.forge.update_pull_request(&repository, pull.number, &update).await.unwrap();
    assert_eq!((changed.title.as_str(), changed.readiness), ("Add sign-in", Readiness::Draft));
    assert_eq!(changed.body, "Closes #1");

    for _ in 0..2 {
        let ready = it.forge.mark_ready(&repository, pull.number).await.unwrap();
        assert_eq!((ready.title.as_str(), ready.readiness), ("Add sign-in", Readiness::Ready));
    }
    let update = PullRequestUpdate { title: None, body: Some("New text".to_owned()) };
    let changed = it.forge.update_pull_request(&repository, pull.number, &update).await.unwrap();
    assert_eq!((changed.body.as_str(), changed.readiness), ("New text", Readiness::Ready));
    assert_eq!(it.server.pull_requests(it.path)[0].title, "Add sign-in");
    assert_eq!(it.forge.read_pull_request(&repository, pull.number).await.unwrap(), changed);
}

async fn a_restart_never_opens_a_second_pull_request(it: Setting) {
    let faults =
        [(FaultKind::CutAfterApply, "cynode/task-2"), (FaultKind::HangAfterApply, "cynode/task-3")];
    for (count, (fault, branch)) in (1..).zip(faults) {
        it.server.push_branch(it.path, branch, 'c');
        let new =
            NewPullRequest { head: branch.parse().unwrap(), ..new_pull_request(Readiness::Draft) };
        it.server.fail(ScriptedFault::once("POST", it.collection(), fault));
        let lost =
            it.connect_with(TOKEN, impatient()).ensure_pull_request(&it.repository(), &new).await;
        let Err(ForgeError::Unavailable { may_have_applied: true, .. }) = lost else {
            panic!("{lost:?}");
        };

        // Another process takes over.
        let forge = it.connect_with(TOKEN, ForgeLimits::default());
        let found = forge.ensure_pull_request(&it.repository(), &new).await.unwrap();

        assert!(!found.is_new);
        assert_eq!(it.server.pull_requests(it.path).len(), count);
        assert_eq!(found.pull_request.head_branch, branch);
    }
}

async fn concurrent_calls_open_one_pull_request(it: Setting) {
    let (repository, new) = (it.repository(), new_pull_request(Readiness::Ready));
    let (one, two) = (
        it.connect_with(TOKEN, ForgeLimits::default()),
        it.connect_with(TOKEN, ForgeLimits::default()),
    );

    let (one, two) = tokio::join!(
        one.ensure_pull_request(&repository, &new),
        two.ensure_pull_request(&repository, &new)
    );

    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.pull_request.number, two.pull_request.number);
    assert_eq!(usize::from(one.is_new) + usize::from(two.is_new), 1);
    assert_eq!(it.server.pull_requests(it.path).len(), 1);
}

async fn a_pull_request_that_the_list_does_not_show_yet_is_found_by_its_rejection(it: Setting) {
    let new = new_pull_request(Readiness::Ready);
    let first = it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap();
    it.server.fail(ScriptedFault::once("GET", it.collection(), FaultKind::Body("[]".to_owned())));

    let second = it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap();

    assert!(!second.is_new);
    assert_eq!(second.pull_request.number, first.pull_request.number);
    let posts = it.server.requests().into_iter().filter(|request| request.method == "POST");
    assert_eq!(posts.count(), 2);
    assert_eq!(it.server.pull_requests(it.path).len(), 1);
}

async fn pull_requests_of_forks_and_other_branches_do_not_count(it: Setting) {
    it.server.push_branch(it.path, "cynode/task-10", 'c');
    it.server.add_pull_request(it.path, "mallory", "cynode/task-1", Some("mallory/site"));
    it.server.add_pull_request(it.path, "bob", "cynode/task-10", None);

    let opened = it
        .forge
        .ensure_pull_request(&it.repository(), &new_pull_request(Readiness::Ready))
        .await
        .unwrap();

    assert!(opened.is_new);
    assert_eq!(it.server.pull_requests(it.path).len(), 3);
}

async fn a_closed_pull_request_is_found_only_if_asked_for(it: Setting) {
    let repository = it.repository();
    let branch = "cynode/task-1".parse().unwrap();
    let find = |filter| it.forge.find_pull_request(&repository, &branch, filter);
    assert_eq!(find(PullRequestFilter::Any).await, Ok(None));
    let first = it.open_draft().await.number;
    it.server.set_pull_state(it.path, first, ScriptedPullState::Closed);
    let second = it.open_draft().await.number;
    it.server.set_pull_state(it.path, second, ScriptedPullState::Merged);

    assert_eq!(find(PullRequestFilter::Open).await, Ok(None));
    let newest = find(PullRequestFilter::Any).await.unwrap().unwrap();
    assert_eq!((newest.number, newest.state), (second, PullRequestState::Merged));
    it.server.set_pull_state(it.path, first, ScriptedPullState::Open);
    assert_eq!(find(PullRequestFilter::Any).await.unwrap().unwrap().number, first);
}

async fn a_branch_that_does_not_exist_is_an_error_that_no_retry_repairs(it: Setting) {
    let mut new = new_pull_request(Readiness::Ready);
    new.head = "cynode/task-9".parse().unwrap();

    let refused = it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap_err();

    assert!(!refused.is_retryable(), "{refused:?}");
    assert_eq!(it.server.pull_requests(it.path).len(), 0);
}

async fn an_older_pull_request_is_found_on_a_later_page(it: Setting) {
    let number = it.open_draft().await.number;
    for index in 0..7 {
        it.server.add_pull_request(it.path, "bob", &format!("other-{index}"), None);
    }
    let new = new_pull_request(Readiness::Draft);

    let found = it
        .connect_with(TOKEN, small_pages(5))
        .ensure_pull_request(&it.repository(), &new)
        .await
        .unwrap();

    assert_eq!((found.pull_request.number, found.is_new), (number, false));
    // Only Gitea cannot filter by branch; it fails rather than to open a second one.
    let short =
        it.connect_with(TOKEN, small_pages(2)).ensure_pull_request(&it.repository(), &new).await;
    match it.kind {
        ForgeKind::Gitea => {
            assert_eq!(short, Err(ForgeError::TooMany { what: "pull requests" }));
        }
        ForgeKind::Github | ForgeKind::Gitlab => assert!(!short.unwrap().is_new),
    }
}

async fn state_head_and_conflicts_follow_the_forge(it: Setting) {
    let new = new_pull_request(Readiness::Ready);
    let number =
        it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap().pull_request.number;
    let read = || async { it.forge.read_pull_request(&it.repository(), number).await.unwrap() };

    for (mergeable, expected) in [
        (None, Mergeability::Unknown),
        (Some(true), Mergeability::Mergeable),
        (Some(false), Mergeability::Conflicting),
    ] {
        it.server.set_mergeable(it.path, number, mergeable);
        // Gitea does not tell that it is still computing.
        if (it.kind, mergeable) != (ForgeKind::Gitea, None) {
            assert_eq!(read().await.mergeability, expected);
        }
    }
    it.server.push_branch(it.path, "cynode/task-1", 'd');
    assert_eq!(read().await.head_commit.as_str(), commit_id('d'));
    for (state, expected) in [
        (ScriptedPullState::Closed, PullRequestState::Closed),
        (ScriptedPullState::Merged, PullRequestState::Merged),
    ] {
        it.server.set_pull_state(it.path, number, state);
        assert_eq!(read().await.state, expected);
    }
    let missing = it.forge.read_pull_request(&it.repository(), 99).await;
    assert!(matches!(missing, Err(ForgeError::NotFound { .. })), "{missing:?}");
}

async fn a_title_of_a_ready_pull_request_does_not_make_it_a_draft(it: Setting) {
    let title = match it.kind {
        ForgeKind::Github => return,
        ForgeKind::Gitlab => "Draft: Add login",
        ForgeKind::Gitea => "WIP: Add login",
    };
    let new = NewPullRequest { title: title.to_owned(), ..new_pull_request(Readiness::Ready) };

    let opened = it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap();

    assert_eq!(opened.pull_request.readiness, Readiness::Ready);
    assert_eq!(it.server.pull_requests(it.path)[0].title, "Add login");
}

#[tokio::test]
async fn a_github_plan_without_drafts_gets_a_ready_pull_request() {
    let it = Setting::new(ForgeKind::Github);
    it.server.set_drafts(false);

    let pull = it.open_draft().await;

    assert_eq!(pull.readiness, Readiness::Ready);
    assert_eq!(it.server.pull_requests(it.path).len(), 1);
}

async fn the_default_branch_is_that_of_the_repository(it: Setting) {
    let branch = it.forge.read_default_branch(&it.repository()).await.unwrap();

    assert_eq!(branch.as_str(), "main");
    let missing = "ada/missing".parse().unwrap();
    let error = it.forge.read_default_branch(&missing).await.unwrap_err();
    assert!(matches!(error, cynode_forge::ForgeError::NotFound { .. }), "{error:?}");
}
