//! A forge with a repository, a token for the client, and people.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::policy::network::AllowedNetworks;
use cynode_forge::{
    Forge, ForgeInstance, ForgeKind, ForgeLimits, ForgeOptions, NewPullRequest, Readiness,
    RepositoryPath,
};
use cynode_forge_fixture::{ScriptedForge, ScriptedForgeApi, ScriptedPermission};
use cynode_network::NetworkReach;
use cynode_runtime::clock::ManualClock;

/// The client's token.
pub(crate) const TOKEN: &str = "t0ken-of-the-b0t";

/// People: `ada` owns the repository, `bob` may write, `eve` may read, `mallory` may nothing. The client is `bot`.
pub(crate) struct Setting {
    pub(crate) kind: ForgeKind,
    pub(crate) server: ScriptedForge,
    pub(crate) forge: Forge,
    pub(crate) path: &'static str,
}

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

impl Setting {
    pub(crate) fn new(kind: ForgeKind) -> Self {
        Self::with_limits(kind, ForgeLimits::default())
    }

    pub(crate) fn with_limits(kind: ForgeKind, limits: ForgeLimits) -> Self {
        let (api, path) = match kind {
            ForgeKind::Github => (ScriptedForgeApi::Github, "ada/site"),
            ForgeKind::Gitlab => (ScriptedForgeApi::Gitlab, "ada/tools/site"),
            ForgeKind::Gitea => (ScriptedForgeApi::Gitea, "ada/site"),
        };
        let server = ScriptedForge::start(api);
        for login in ["ada", "bob", "eve", "mallory"] {
            server.add_user(login, &format!("token-of-{login}"));
        }
        server.add_user("bot", TOKEN);
        server.add_repository(path, "ada");
        server.set_permission(path, "bob", ScriptedPermission::Write);
        server.set_permission(path, "eve", ScriptedPermission::Read);
        server.set_permission(path, "bot", ScriptedPermission::Admin);
        server.push_branch(path, "main", 'a');
        server.push_branch(path, "cynode/task-1", 'b');
        let forge = connect(kind, &server.base_url(), TOKEN, limits);
        Self { kind, server, forge, path }
    }

    pub(crate) fn repository(&self) -> RepositoryPath {
        self.path.parse().unwrap()
    }

    /// Another client with its own token, as after a restart.
    pub(crate) fn connect_with(&self, token: &str, limits: ForgeLimits) -> Forge {
        connect(self.kind, &self.server.base_url(), token, limits)
    }

    pub(crate) async fn open_draft(&self) -> cynode_forge::PullRequest {
        let new = new_pull_request(Readiness::Draft);
        self.forge.ensure_pull_request(&self.repository(), &new).await.unwrap().pull_request
    }
}

pub(crate) fn new_pull_request(readiness: Readiness) -> NewPullRequest {
    NewPullRequest {
        title: "Add login".to_owned(),
        body: "Closes #1".to_owned(),
        head: "cynode/task-1".parse().unwrap(),
        base: "main".parse().unwrap(),
        readiness,
    }
}

pub(crate) fn options(kind: ForgeKind, base_url: &str, token: &str) -> ForgeOptions {
    ForgeOptions {
        instance: ForgeInstance::new(kind, base_url).unwrap(),
        token: token.into(),
        reach: NetworkReach::Public(AllowedNetworks::parse(["127.0.0.0/8"]).unwrap()),
        limits: ForgeLimits::default(),
        clock: Arc::new(ManualClock::new(now())),
    }
}

fn connect(kind: ForgeKind, base_url: &str, token: &str, limits: ForgeLimits) -> Forge {
    Forge::new(&ForgeOptions { limits, ..options(kind, base_url, token) }).unwrap()
}

/// Limits for a forge that does not answer.
pub(crate) fn impatient() -> ForgeLimits {
    ForgeLimits { request_timeout: Duration::from_secs(2), ..ForgeLimits::default() }
}

/// Limits with small pages.
pub(crate) fn small_pages(max_pages: u16) -> ForgeLimits {
    ForgeLimits { page_size: 3, max_pages, ..ForgeLimits::default() }
}

impl Setting {
    /// The collection of pull requests in the API.
    pub(crate) fn collection(&self) -> &'static str {
        match self.kind {
            ForgeKind::Github | ForgeKind::Gitea => "/pulls",
            ForgeKind::Gitlab => "/merge_requests",
        }
    }
}
