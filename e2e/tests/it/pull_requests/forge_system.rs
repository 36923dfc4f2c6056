//! A system with a scripted model whose project has a scripted forge.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cynode_domain::request::DeliveryMode;
use cynode_domain::status::RequestPhase;
use cynode_forge_fixture::{ScriptedDelivery, ScriptedForge, ScriptedForgeApi, ScriptedPermission};
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::forges::ForgeView;
use cynode_wire::requests::{RequestView, SubmitRequest};
use reqwest::StatusCode;
use serde_json::json;

use crate::repositories::git;
use crate::requests::{
    DARK_MODE, approved, finish, review, run, script_decisions, submission, system_on,
};
use crate::system::{PATIENCE, System, SystemDatabase};

pub(super) const PATH: &str = "ada/site";
pub(super) const BRANCH: &str = "cynode/dark";
pub(super) const TOKEN: &str = "t0ken-of-the-b0t";
pub(super) const WEBHOOK_SECRET: &str = "a-secret-of-the-webhook";

/// A system whose project has a forge: `ada` owns the repository there, `bob` may write, `eve` may read.
pub(super) struct ForgeSystem {
    pub(super) provider: ScriptedProvider,
    pub(super) server: ScriptedForge,
    pub(super) system: System,
    _home: tempfile::TempDir,
    pub(super) remote: PathBuf,
    pub(super) forge: ForgeView,
}

impl ForgeSystem {
    pub(super) async fn start(
        api: ScriptedForgeApi,
        database: SystemDatabase,
        poll_seconds: u64,
    ) -> Self {
        let provider = ScriptedProvider::start();
        let (system, home, remote) = system_on(database, &provider).await;
        script_decisions(&provider);
        let server = ScriptedForge::start(api);
        for login in ["ada", "bob", "eve"] {
            server.add_user(login, &format!("token-of-{login}"));
        }
        server.add_user("bot", TOKEN);
        server.add_repository(PATH, "ada");
        for (login, permission) in [
            ("bob", ScriptedPermission::Write),
            ("eve", ScriptedPermission::Read),
            ("bot", ScriptedPermission::Admin),
        ] {
            server.set_permission(PATH, login, permission);
        }
        server.push_branch(PATH, "main", 'a');
        server.push_branch(PATH, BRANCH, 'b');
        let kind = match api {
            ScriptedForgeApi::Github => "github",
            ScriptedForgeApi::Gitlab => "gitlab",
            ScriptedForgeApi::Gitea => "gitea",
        };
        let body = json!({
            "repository": remote, "kind": kind, "base_url": server.base_url(), "path": PATH,
            "is_internal": true, "token": TOKEN, "webhook_secret": WEBHOOK_SECRET, "issue_label": "cynode",
        });
        let body = serde_json::from_value(body).unwrap();
        let forge = system.client.forge_set("default", &body).await.unwrap();
        let setting = serde_json::from_value(json!({ "value": poll_seconds })).unwrap();
        system.client.setting_set("pm.pull_requests.poll_seconds", &setting).await.unwrap();
        Self { provider, server, system, _home: home, remote, forge }
    }

    /// Allows pull requests in the project.
    pub(super) async fn allow(&self) {
        let rule = json!({
            "subject_type": "project", "subject_id": self.forge.project_id, "effect": "allow",
            "action": "forge.pull_request.open", "resource_type": "forge.repository",
            "resource_pattern": self.forge.resource,
        });
        self.system.client.rule_create(&serde_json::from_value(rule).unwrap()).await.unwrap();
    }

    /// Scripts an implementation that is approved.
    pub(super) fn script_work(&self) {
        self.provider.when_in_turn(
            "# Implement main",
            [run("echo '<input type=checkbox id=dark>' >> settings.html"), finish("added it")],
        );
        self.provider.when_in_turn("# Review main", review(&approved()));
    }

    pub(super) fn submission(&self) -> SubmitRequest {
        let mut body = submission(DARK_MODE, &self.remote);
        body.settings.deliver = DeliveryMode::PullRequest;
        body.repository.as_mut().unwrap().branch = Some(BRANCH.parse().unwrap());
        body.name = Some("dark".to_owned());
        body
    }

    pub(super) async fn submit(&self) {
        self.system.client.request_submit(&self.submission()).await.unwrap();
    }

    pub(super) async fn wait_for(&self, is_reached: impl Fn(&RequestView) -> bool) -> RequestView {
        let begun = Instant::now();
        loop {
            // An unreachable orchestrator was killed.
            if let Ok(view) = self.system.client.request_get("dark").await {
                if is_reached(&view) {
                    return view;
                }
                assert!(view.ended_at.is_none() && view.question.is_none(), "{view:#?}");
            }
            assert!(begun.elapsed() < PATIENCE * 2, "too long");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for the review, and shows the pushed commit to the forge as a real one would.
    pub(super) async fn wait_for_review(&self) -> (RequestView, u64) {
        let view = self.wait_for(|view| view.phase == RequestPhase::InReview).await;
        let delivery = view.delivery.clone().unwrap();
        self.server.push_commit(PATH, BRANCH, delivery.head.unwrap().as_str());
        (view, delivery.pull_request_number.unwrap())
    }

    /// Waits until the request has looked at its pull request for the first time: the forge is asked nothing more.
    pub(super) async fn wait_for_first_look(&self) {
        let mut seen = 0;
        while seen != self.server.requests().len() {
            seen = self.server.requests().len();
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }

    pub(super) async fn wait_until_ended(&self) -> RequestView {
        self.wait_for(|view| view.ended_at.is_some()).await
    }

    /// The page on the delivered branch.
    pub(super) fn page(&self) -> String {
        git(&self.remote, &["show", &format!("{BRANCH}:settings.html")])
    }

    pub(super) async fn deliver(
        &self,
        delivery: &ScriptedDelivery,
        forge: &str,
    ) -> (StatusCode, String) {
        let url = format!("{}/v1/forges/{forge}/webhook", self.system.announced.url);
        let mut request = reqwest::Client::new().post(url).body(delivery.body.clone());
        for (name, value) in &delivery.headers {
            request = request.header(name, value);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        let body: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    }
}
