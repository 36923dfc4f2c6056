//! Forges that fail, and forges that attack.

use chrono::TimeDelta;
use cynode_domain::policy::network::AllowedNetworks;
use cynode_forge::{Forge, ForgeError, ForgeKind, ForgeLimits, ForgeOptions, Readiness};
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedForge, ScriptedForgeApi};
use cynode_network::NetworkReach;

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, impatient, new_pull_request, now, options};

on_each_forge!(
    failures_of_the_forge_are_retryable_and_rejections_are_not,
    a_rate_limit_says_when_it_ends,
    a_write_that_failed_for_sure_says_so,
    an_answer_that_is_not_json_is_invalid,
    a_redirect_on_the_same_host_is_followed,
    the_token_is_never_sent_to_another_host,
    a_redirect_without_end_stops,
    an_internal_address_is_reached_only_if_the_administrator_allowed_it,
    plain_http_is_used_only_where_the_administrator_allowed_it,
);

async fn failures_of_the_forge_are_retryable_and_rejections_are_not(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    for kind in [FaultKind::Status(500), FaultKind::Status(503), FaultKind::Cut, FaultKind::Hang] {
        it.server.fail(ScriptedFault::once("GET", "/issues", kind.clone()));

        let is_silent = kind == FaultKind::Hang;
        let limits = if is_silent { impatient() } else { ForgeLimits::default() };
        let forge = it.connect_with(TOKEN, limits);
        let failed = forge.read_issue(&it.repository(), number).await.unwrap_err();

        assert!(failed.is_retryable(), "{kind:?}: {failed:?}");
        let ForgeError::Unavailable { may_have_applied: false, .. } = failed else {
            panic!("{kind:?}: {failed:?}");
        };
    }
    it.forge.read_issue(&it.repository(), number).await.unwrap();
    it.server.fail(ScriptedFault::once("GET", "/issues", FaultKind::Status(418)));
    let rejected = it.forge.read_issue(&it.repository(), number).await.unwrap_err();
    assert!(matches!(rejected, ForgeError::Rejected { .. }));
}

async fn a_rate_limit_says_when_it_ends(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let kind = FaultKind::RateLimit { retry_after_s: 90 };
    it.server.fail(ScriptedFault::once("GET", "/issues", kind));

    let limited = it.forge.read_issue(&it.repository(), number).await.unwrap_err();

    let until = now() + TimeDelta::seconds(90);
    assert_eq!(limited, ForgeError::RateLimited { until });
    assert_eq!((limited.is_retryable(), limited.retry_at()), (true, Some(until)));
}

async fn a_write_that_failed_for_sure_says_so(it: Setting) {
    let new = new_pull_request(Readiness::Ready);
    it.server.fail(ScriptedFault::once("POST", it.collection(), FaultKind::Cut));
    let failed = it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap_err();
    // The client cannot tell a lost answer from a lost request.
    assert!(matches!(failed, ForgeError::Unavailable { may_have_applied: true, .. }), "{failed:?}");
    assert_eq!(it.server.pull_requests(it.path).len(), 0);

    // Nothing listens at the port of a forge that ended.
    let url = ScriptedForge::start(ScriptedForgeApi::Github).base_url();
    let forge = Forge::new(&options(it.kind, &url, TOKEN)).unwrap();
    let failed = forge.ensure_pull_request(&it.repository(), &new).await.unwrap_err();
    assert!(
        matches!(failed, ForgeError::Unavailable { may_have_applied: false, .. }),
        "{failed:?}"
    );

    assert!(it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap().is_new);
}

async fn an_answer_that_is_not_json_is_invalid(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    for body in ["<html>Sign in</html>", "", "{}", "[]", r#"{"number": "secret-text"}"#, "null"] {
        it.server.fail(ScriptedFault::once("GET", "/issues", FaultKind::Body(body.to_owned())));

        let invalid = it.forge.read_issue(&it.repository(), number).await.unwrap_err();

        assert!(matches!(invalid, ForgeError::InvalidAnswer { .. }), "{body:?}: {invalid:?}");
        assert!(!invalid.to_string().contains("secret-text"));
    }
}

async fn a_redirect_on_the_same_host_is_followed(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    it.forge.read_issue(&it.repository(), number).await.unwrap();
    let target = it.server.requests()[0].target.clone();
    it.server.fail(ScriptedFault::once(
        "GET",
        "/issues",
        FaultKind::Redirect { status: 301, target },
    ));

    let issue = it.forge.read_issue(&it.repository(), number).await.unwrap();

    assert_eq!(issue.title, "Login fails");
    // A post that was redirected may not become a get.
    let target = "/elsewhere".to_owned();
    it.server.fail(ScriptedFault::once(
        "POST",
        it.collection(),
        FaultKind::Redirect { status: 302, target },
    ));
    let new = new_pull_request(Readiness::Ready);
    let rejected = it.forge.ensure_pull_request(&it.repository(), &new).await.unwrap_err();
    assert!(matches!(rejected, ForgeError::Rejected { .. }), "{rejected:?}");
}

async fn the_token_is_never_sent_to_another_host(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let other = ScriptedForge::start(ScriptedForgeApi::Github);
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}/api/v3/steal", other.base_url());
        it.server.fail(ScriptedFault::once(
            "GET",
            "/issues",
            FaultKind::Redirect { status, target },
        ));

        let refused = it.forge.read_issue(&it.repository(), number).await.unwrap_err();

        assert!(matches!(refused, ForgeError::InvalidAnswer { .. }), "{refused:?}");
    }
    assert_eq!(other.requests(), []);
}

async fn a_redirect_without_end_stops(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let target = "/issues/again".to_owned();
    it.server.fail(ScriptedFault::always(
        "GET",
        "/issues",
        FaultKind::Redirect { status: 302, target },
    ));

    let refused = it.forge.read_issue(&it.repository(), number).await.unwrap_err();

    assert!(matches!(refused, ForgeError::InvalidAnswer { .. }));
    assert!(it.server.requests().len() <= 5);
}

async fn an_internal_address_is_reached_only_if_the_administrator_allowed_it(it: Setting) {
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    let port = it.server.address().port();
    let read = |reach: NetworkReach, url: String| {
        let options = ForgeOptions { reach, ..options(it.kind, &url, TOKEN) };
        let repository = it.repository();
        async move { Forge::new(&options)?.read_issue(&repository, number).await }
    };
    let public = NetworkReach::Public(AllowedNetworks::default());
    for url in [format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}")] {
        let refused = read(public.clone(), url.clone()).await.unwrap_err();
        assert!(matches!(refused, ForgeError::Misconfigured { .. }), "{url}: {refused:?}");
    }
    assert_eq!(it.server.requests(), []);

    read(NetworkReach::Anywhere, format!("http://127.0.0.1:{port}")).await.unwrap();
}

async fn plain_http_is_used_only_where_the_administrator_allowed_it(it: Setting) {
    let public = options(it.kind, "http://forge.example", TOKEN);

    let refused = Forge::new(&public).unwrap_err();

    assert!(matches!(refused, ForgeError::Misconfigured { .. }), "{refused:?}");
    let internal = ForgeOptions { reach: NetworkReach::Anywhere, ..public };
    assert!(Forge::new(&internal).is_ok());
    for token in ["", "a\nb"] {
        let refused = Forge::new(&options(it.kind, "https://forge.example", token)).unwrap_err();
        assert!(matches!(refused, ForgeError::Misconfigured { .. }), "{token:?}");
    }
}

#[tokio::test]
async fn every_request_has_its_own_time_limit() {
    let it = Setting::new(ForgeKind::Github);
    let number = it.server.add_issue(it.path, "ada", "Login fails", "");
    it.server.fail(ScriptedFault::always("", "/comments", FaultKind::Hang));

    let failed = it.connect_with(TOKEN, impatient()).read_issue(&it.repository(), number).await;

    assert!(matches!(failed, Err(ForgeError::Unavailable { .. })), "{failed:?}");
}
