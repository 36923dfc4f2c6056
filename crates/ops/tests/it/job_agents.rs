//! Agents of jobs: the role of their tokens, and their signs of life.

use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_domain::policy::AgentType;
use cynode_domain::status::JobStatus;
use cynode_execution::nodes::close_job;
use cynode_resources::agents::signs::{AgentSigns, HEARTBEAT_TIMEOUT};
use cynode_resources::agents::{AgentIdentity, JobAgent};
use cynode_resources::{Signals, StoreError};
use cynode_runs::Sweeper;
use cynode_wire::agents::{BindingView, IssueAgentToken, NewAgentTokenView};
use cynode_wire::settings::SetSetting;
use serde_json::json;

use crate::engines::on_each_engine;
use crate::team::{Team, named};

on_each_engine! {
    the_agent_of_a_job_has_a_role_before_its_first_message,
    two_agents_of_a_kind_are_told_apart_and_the_role_of_an_ended_job_is_free,
    a_silent_agent_is_stopped_and_one_that_waits_for_an_answer_is_not,
    a_paused_agent_is_not_stopped_for_silence_until_it_is_told_to_go_on,
}

impl Team {
    async fn job_token(&self, agent: &AgentIdentity, job_agent: JobAgent) -> NewAgentTokenView {
        let binding =
            BindingView { task_id: agent.task, job_id: agent.job, ..BindingView::default() };
        let request = IssueAgentToken {
            agent_type: AgentType::Sandbox,
            name: "agent".to_owned(),
            user_id: None,
            expires_in_seconds: None,
            binding,
        };
        self.world.agents.issue_for_job(&self.world.bob, request, job_agent).await.unwrap()
    }
}

async fn the_agent_of_a_job_has_a_role_before_its_first_message() {
    let team = Team::new().await;
    let profile = Some(("opencode".to_owned(), 3));
    let job_agent =
        JobAgent { role: Some(named("tester")), work_unit: Some("test:auth".to_owned()), profile };

    let issued = team.job_token(&team.in_job(1).await, job_agent.clone()).await;
    let identity = team.world.agents.authenticate(&issued.secret).await.unwrap();

    assert_eq!(identity.job_agent, job_agent);
    assert_eq!(issued.token.agent_role.as_deref(), Some("tester"));
    assert_eq!(issued.token.work_unit_id.as_deref(), Some("test:auth"));
    assert_eq!(issued.token.profile.as_deref(), Some("opencode"));
    assert_eq!(issued.token.profile_revision, Some(3));
    let instruction = team.instruct("tester", "continue").await;
    let delivered = team.messages.deliver_with_reply(&identity).await.unwrap().unwrap();
    assert_eq!(delivered.role, named("tester"));
    assert_eq!(delivered.instructions[0].id, instruction);
}

async fn two_agents_of_a_kind_are_told_apart_and_the_role_of_an_ended_job_is_free() {
    let team = Team::new().await;
    let (first, second, third) = (team.in_job(1).await, team.in_job(2).await, team.in_job(3).await);
    let role = async |agent: &AgentIdentity| {
        team.job_token(agent, JobAgent::default()).await.token.agent_role.unwrap()
    };

    assert_eq!(role(&first).await, "developer");
    assert_eq!(role(&first).await, "developer", "a second token of the same job");
    assert_eq!(role(&second).await, "developer-2");
    let ended = first.job.unwrap();
    team.world
        .store
        .write(move |tx| {
            Box::pin(async move {
                let job = tx.job_get(ended).await?.unwrap();
                close_job(tx, &job, JobStatus::Canceled, None, &JobEnding::Canceled).await
            })
        })
        .await
        .map_err(|fault: StoreError| fault)
        .unwrap();
    assert_eq!(role(&third).await, "developer");
}

async fn a_silent_agent_is_stopped_and_one_that_waits_for_an_answer_is_not() {
    let team = Team::new().await;
    let body = SetSetting { value: json!(1), expected_version: None, reason: None };
    team.world.settings.set(&team.world.admin, HEARTBEAT_TIMEOUT, body).await.unwrap();
    let signs = AgentSigns::new(team.world.store.clone());
    let (store, clock) = (team.world.store.clone(), team.world.clock.clone());
    let signals = Signals::new(store.engine());
    let sweeper =
        Sweeper::new(store, signals, team.world.accounts.clone(), clock).with_signs(signs.clone());
    let (silent, waiting) = (team.at_work(1, "developer").await, team.at_work(2, "tester").await);
    let plain = team.at_work(3, "reviewer").await;
    let is_stopped =
        async |id: Option<JobId>| team.job_row(id.unwrap()).await.stop_ending.is_some();
    for agent in [&silent, &waiting] {
        team.job_token(agent, JobAgent::default()).await;
    }

    let open_request = signs.hold(waiting.job.unwrap());
    while !is_stopped(silent.job).await {
        sweeper.sweep_once().await.unwrap();
    }

    assert!(!is_stopped(waiting.job).await, "its request is in flight");
    assert!(!is_stopped(plain.job).await, "not the job of an agent");
    let job = team.job_row(silent.job.unwrap()).await;
    assert!(job.cancel_requested && job.status == JobStatus::Running);
    let ending: JobEnding = serde_json::from_value(job.stop_ending.unwrap()).unwrap();
    let JobEnding::LimitReached { limit } = ending else { panic!("{ending:?}") };
    assert!(limit.starts_with("heartbeat_missed: "), "{limit}");
    drop(open_request);
    while !is_stopped(waiting.job).await {
        sweeper.sweep_once().await.unwrap();
    }
}

async fn a_paused_agent_is_not_stopped_for_silence_until_it_is_told_to_go_on() {
    let team = Team::new().await;
    let body = SetSetting { value: json!(1), expected_version: None, reason: None };
    team.world.settings.set(&team.world.admin, HEARTBEAT_TIMEOUT, body).await.unwrap();
    let signs = AgentSigns::new(team.world.store.clone());
    let (store, clock) = (team.world.store.clone(), team.world.clock.clone());
    let signals = Signals::new(store.engine());
    let sweeper =
        Sweeper::new(store, signals, team.world.accounts.clone(), clock).with_signs(signs.clone());
    let (paused, silent) = (team.at_work(1, "developer").await, team.at_work(2, "tester").await);
    let is_stopped =
        async |id: Option<JobId>| team.job_row(id.unwrap()).await.stop_ending.is_some();
    let last_sign = async || {
        let id = paused.job.unwrap();
        let sql = format!("SELECT CAST(last_sign_at AS text) FROM jobs WHERE id = '{id}'");
        cynode_testkit::query(&team.world.database.url, &sql).await
    };
    team.job_token(&paused, JobAgent::default()).await;
    team.instruct("developer", "pause").await;
    assert!(team.messages.deliver_with_reply(&paused).await.unwrap().is_some());
    team.job_token(&silent, JobAgent::default()).await;

    // The paused agent is silent for longer than this one.
    while !is_stopped(silent.job).await {
        sweeper.sweep_once().await.unwrap();
    }

    assert!(!is_stopped(paused.job).await, "it was told to wait");
    let before = last_sign().await;
    team.instruct("developer", "continue").await;
    assert_ne!(last_sign().await, before, "it has the whole time to read the instruction");
    while !is_stopped(paused.job).await {
        sweeper.sweep_once().await.unwrap();
    }
}
