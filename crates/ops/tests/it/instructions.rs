//! Instructions that reach an agent with the replies of its tools, and what they do to its job.

use std::time::Duration;

use chrono::DateTime;
use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{IncarnationId, JobId, MessageId, NodeId};
use cynode_domain::job::JobEnding;
use cynode_domain::policy::Principal;
use cynode_domain::status::NodeStatus;
use cynode_ops::MessageError;
use cynode_resources::StoreError;
use cynode_resources::agents::{AgentIdentity, JobAgent};
use cynode_store::{Job, ListedProfiles, Node};
use cynode_wire::apmas::{MessageQuery, ReportToPm};
use cynode_wire::work::{CreatePlan, SubmitWork};
use serde_json::json;

use crate::engines::on_each_engine;
use crate::team::{Team, named};

on_each_engine! {
    every_reply_to_the_agent_of_a_job_carries_new_instructions_once_and_in_order,
    concurrent_replies_deliver_an_instruction_once,
    an_instruction_without_acknowledgement_is_delivered_again_with_its_id,
    long_instructions_are_spread_over_replies_in_order,
    an_abort_stops_the_running_job_and_is_named_by_its_ending,
    the_abort_of_one_agent_stops_no_other_job,
    a_paused_agent_keeps_its_role,
    an_agent_acts_in_the_role_of_its_token_only,
    an_agent_reports_on_its_own_units_only,
    an_agent_acts_on_the_unit_of_its_token_only,
}

fn new_node(slug: &str) -> Node {
    Node {
        id: NodeId::generate(),
        slug: slug.to_owned(),
        status: NodeStatus::Active,
        token_hash: slug.as_bytes().to_vec(),
        public_key: None,
        is_key_revoked: false,
        capabilities: json!({}),
        sandbox_supported: true,
        max_concurrency: 1,
        machine_load: None,
        open_jobs: 0,
        incarnation: None,
        last_seen_at: None,
        created_at: DateTime::UNIX_EPOCH,
    }
}

impl Team {
    async fn replied(&self, agent: &AgentIdentity) -> Vec<MessageId> {
        let delivered = self.messages.deliver_with_reply(agent).await.unwrap();
        let items = delivered.map(|delivered| delivered.instructions).unwrap_or_default();
        items.into_iter().map(|instruction| instruction.id).collect()
    }

    /// An agent whose job is running.
    pub(crate) async fn at_work(&self, attempt: u32, role: &str) -> AgentIdentity {
        let agent = self.in_job(attempt).await;
        let id = agent.job.unwrap();
        let (node, process) = (new_node(&id.to_string()), IncarnationId::generate());
        let started = self
            .world
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let node = tx.node_register(&node).await?;
                    tx.job_assign(id, node).await?;
                    tx.job_start(id, node, process, 60_000).await
                })
            })
            .await
            .map_err(|fault: StoreError| fault);
        assert!(started.unwrap());
        self.heartbeat(&agent, role).await;
        agent
    }

    pub(crate) async fn job_row(&self, id: JobId) -> Job {
        let found = self
            .world
            .store
            .read(move |tx| Box::pin(async move { tx.job_get(id).await }))
            .await
            .map_err(|fault: StoreError| fault);
        found.unwrap().unwrap()
    }
}

async fn every_reply_to_the_agent_of_a_job_carries_new_instructions_once_and_in_order() {
    let team = Team::new().await;
    let (dev, tester) = (team.in_job(1).await, team.in_job(2).await);
    team.heartbeat(&dev, "developer").await;
    team.heartbeat(&tester, "tester").await;
    assert_eq!(team.replied(&dev).await, []);

    let first = team.instruct("developer", "revise").await;
    let second = team.instruct("developer", "reduce_scope").await;

    assert_eq!(team.replied(&tester).await, [], "another agent of the task");
    let unbound = AgentIdentity { job: None, ..dev.clone() };
    assert_eq!(team.replied(&unbound).await, [], "a token without a job");
    let manager = AgentIdentity { agent: Principal::PM, ..dev.clone() };
    assert_eq!(team.replied(&manager).await, [], "another kind of token");
    assert_eq!(team.replied(&dev).await, [first, second]);
    assert_eq!(team.replied(&dev).await, []);
    assert!(team.heartbeat(&dev, "developer").await.instructions.is_empty());
}

async fn concurrent_replies_deliver_an_instruction_once() {
    let team = Team::new().await;
    let dev = team.in_job(1).await;
    team.heartbeat(&dev, "developer").await;
    let only = team.instruct("developer", "continue").await;

    let (a, b, c, d) = tokio::join!(
        team.replied(&dev),
        team.replied(&dev),
        team.replied(&dev),
        team.replied(&dev)
    );

    assert_eq!([a, b, c, d].concat(), [only]);
}

async fn an_instruction_without_acknowledgement_is_delivered_again_with_its_id() {
    let team = Team::new().await;
    let dev = team.in_job(1).await;
    team.heartbeat(&dev, "developer").await;
    let lost = team.instruct("developer", "revise").await;
    assert_eq!(team.replied(&dev).await, [lost], "this response is lost");
    let next = team.instruct("developer", "continue").await;
    assert_eq!(team.replied(&dev).await, [next]);

    team.world.clock.advance(Duration::from_mins(4));
    assert_eq!(team.replied(&dev).await, []);
    team.world.clock.advance(Duration::from_mins(2));
    assert_eq!(team.replied(&dev).await, [lost, next], "in the order of the project manager");
    assert_eq!(team.replied(&dev).await, []);

    let mut beat = team.beat("developer");
    beat.acknowledge = vec![lost];
    team.messages.record_heartbeat(&dev, beat).await.unwrap();
    team.world.clock.advance(Duration::from_mins(6));
    assert_eq!(team.replied(&dev).await, [next], "the other one is acknowledged");
}

async fn long_instructions_are_spread_over_replies_in_order() {
    let team = Team::new().await;
    let dev = team.in_job(1).await;
    team.heartbeat(&dev, "developer").await;
    let (mut sent, mut received) = (vec![], vec![]);
    for number in 0..12 {
        let mut request = team.instruction("developer", "revise");
        request.instructions = format!("{number} {}", "ä".repeat(3_500));
        sent.push(team.messages.send_instruction(&team.world.bob, request).await.unwrap().id);
    }

    let mut replies = 0;
    while let Some(reply) = team.messages.deliver_with_reply(&dev).await.unwrap() {
        let bytes: usize = reply.instructions.iter().map(|it| it.instructions.len()).sum();
        assert!(bytes <= 20 * 1024, "{bytes} bytes in one reply");
        assert!(reply.instructions.iter().all(|it| it.instructions.contains("shortened")));
        received.extend(reply.instructions.into_iter().map(|it| it.id));
        replies += 1;
    }

    assert_eq!(received, sent);
    assert!(replies > 1, "{replies}");
}

async fn an_abort_stops_the_running_job_and_is_named_by_its_ending() {
    let team = Team::new().await;
    let dev = team.at_work(1, "developer").await;
    let id = dev.job.unwrap();

    team.instruct("developer", "pause").await;
    assert!(!team.job_row(id).await.cancel_requested, "only an abort stops a job");
    let abort = team.instruct("developer", "abort").await;

    let job = team.job_row(id).await;
    assert!(job.cancel_requested);
    let ending: JobEnding = serde_json::from_value(job.stop_ending.unwrap()).unwrap();
    let JobEnding::Interrupted { reason } = ending else { panic!("{ending:?}") };
    assert!(reason.contains("please abort") && reason.contains(&abort.to_string()), "{reason}");
    assert_eq!(team.replied(&dev).await.last(), Some(&abort), "the agent learns of it too");
}

async fn the_abort_of_one_agent_stops_no_other_job() {
    let team = Team::new().await;
    let dev = team.at_work(1, "developer").await;
    let tester = team.at_work(2, "tester").await;

    team.instruct("tester", "abort").await;

    assert!(!team.job_row(dev.job.unwrap()).await.cancel_requested);
    assert!(team.job_row(tester.job.unwrap()).await.cancel_requested);
}

async fn a_paused_agent_keeps_its_role() {
    let team = Team::new().await;
    let (dev, other) = (team.in_job(1).await, team.in_job(2).await);
    team.heartbeat(&dev, "developer").await;
    let pause = team.instruct("developer", "pause").await;
    assert_eq!(team.replied(&dev).await, [pause]);

    for _ in 0..2 {
        team.world.clock.advance(Duration::from_mins(30));
        let taken = team.messages.record_heartbeat(&other, team.beat("developer")).await;
        assert!(matches!(taken, Err(MessageError::RoleTaken(_))), "{taken:?}");
    }
    team.instruct("developer", "continue").await;
    team.replied(&dev).await;
    let taken = team.messages.record_heartbeat(&other, team.beat("developer")).await;
    assert!(matches!(taken, Err(MessageError::RoleTaken(_))), "it has just gone on: {taken:?}");
    team.world.clock.advance(Duration::from_mins(30));
    team.messages.record_heartbeat(&other, team.beat("developer")).await.unwrap();
}

async fn an_agent_acts_in_the_role_of_its_token_only() {
    let team = Team::new().await;
    let job_agent = JobAgent { role: Some(named("developer")), ..JobAgent::default() };
    let dev = AgentIdentity { job_agent, ..team.in_job(1).await };

    let mut beat = team.beat("reviewer");
    let refused = team.messages.record_heartbeat(&dev, beat.clone()).await.unwrap_err();
    assert!(matches!(refused, MessageError::OtherRole { .. }), "{refused}");
    let report = team.report("work_completed", json!({ "summary": "a" }));
    let as_reviewer = ReportToPm { agent_role: named("reviewer"), ..report.clone() };
    let refused = team.messages.send_report(&dev, as_reviewer).await.unwrap_err();
    assert!(refused.to_string().contains("has the role developer"), "{refused}");
    let context = team.messages.load_context(&dev, team.context_request(Some("reviewer"))).await;
    assert!(matches!(context, Err(MessageError::OtherRole { .. })));

    beat.agent_role = None;
    team.messages.record_heartbeat(&dev, beat).await.unwrap();
    team.messages.send_report(&dev, report).await.unwrap();
    assert_eq!(team.inbox().await, [("developer".to_owned(), "work_completed".to_owned())]);
}

async fn an_agent_reports_on_its_own_units_only() {
    let team = Team::new().await;
    let component = json!({ "name": "auth", "description": "signing in",
        "units": ["implementation", "review", "test"] });
    let plan = json!({ "task_id": team.task, "components": [component] });
    let plan: CreatePlan = serde_json::from_value(plan).unwrap();
    team.work.plan(&team.world.bob, plan).await.unwrap();
    let (dev, reviewer) = (team.in_job(1).await, team.in_job(2).await);
    team.heartbeat(&dev, "developer").await;
    team.heartbeat(&reviewer, "reviewer").await;
    let approval =
        team.report("review_approved", json!({ "verdict": "approved", "summary": "fine" }));
    let tests = team
        .report("tests_passed", json!({ "total": 1, "passed": 1, "failed": 0, "failures": [] }));
    let other = json!({ "summary": "done", "workUnitId": "review:auth" });

    for report in [approval.clone(), tests, team.report("work_completed", other)] {
        let refused = team.messages.send_report(&dev, report).await.unwrap_err();
        assert!(refused.to_string().contains("belongs to the role"), "{refused}");
    }
    assert_eq!(team.inbox().await, [], "what is refused is not stored");
    let by_reviewer = ReportToPm { agent_role: named("reviewer"), ..approval };
    team.messages.send_report(&reviewer, by_reviewer).await.unwrap();
    let own = json!({ "summary": "done", "workUnitId": "impl:auth" });
    team.messages.send_report(&dev, team.report("work_completed", own)).await.unwrap();
}

async fn an_agent_acts_on_the_unit_of_its_token_only() {
    let team = Team::new().await;
    let plan = json!({ "task_id": team.task, "components": [
        { "name": "auth", "description": "signing in", "units": ["implementation"] },
        { "name": "pay", "description": "paying", "units": ["implementation"] }] });
    let plan: CreatePlan = serde_json::from_value(plan).unwrap();
    team.work.plan(&team.world.bob, plan).await.unwrap();
    let job_agent = JobAgent { work_unit: Some("impl:auth".to_owned()), ..JobAgent::default() };
    let dev = AgentIdentity { job_agent, ..team.in_job(1).await };
    team.heartbeat(&dev, "developer").await;

    let other = json!({ "summary": "done", "workUnitId": "impl:pay" });
    let refused = team.messages.send_report(&dev, team.report("work_completed", other)).await;
    let refused = refused.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the work unit of this caller is impl:auth: it cannot act on impl:pay"
    );
    let submit = |unit: &str| SubmitWork {
        task_id: team.task,
        agent_role: named("developer"),
        work_unit_id: unit.to_owned(),
        artifact_path: "a.rs".to_owned(),
        summary: "done".to_owned(),
        metadata: None,
    };
    assert!(team.work.submit_unit(&dev, submit("impl:pay")).await.is_err());
    team.work.submit_unit(&dev, submit("impl:auth")).await.unwrap();
    team.messages.send_report(&dev, team.done("all of it")).await.unwrap();

    let query = MessageQuery { kind: Some(MessageKind::Report), ..MessageQuery::default() };
    let (bob, task, profiles) = (&team.world.bob, Some(team.task), ListedProfiles::All);
    let listed = team.messages.list(bob, None, task, profiles, query).await.unwrap();
    assert_eq!(listed.items[0].work_unit_id.as_deref(), Some("impl:auth"), "of its token");
}
