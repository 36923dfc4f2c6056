//! Instructions that reach an agent with the replies of its tools, and what they do to its job.

use std::time::Duration;

use cynode_domain::ids::{IncarnationId, JobId, MessageId};
use cynode_domain::job::Ending;
use cynode_domain::policy::Principal;
use cynode_ops::MessageError;
use cynode_resources::StoreError;
use cynode_resources::agents::{AgentIdentity, JobAgent};
use cynode_store::Job;

use crate::engines::on_each_engine;
use crate::team::{Team, named};

on_each_engine! {
    every_reply_to_the_agent_of_a_job_carries_new_instructions_once_and_in_order,
    concurrent_replies_deliver_an_instruction_once,
    an_instruction_without_acknowledgement_is_delivered_again_with_its_id,
    long_instructions_are_spread_over_replies_in_order,
    an_abort_stops_the_running_job_and_is_named_by_its_ending,
    the_abort_of_one_agent_stops_no_other_job,
    an_agent_acts_in_the_role_of_its_token_only,
}

impl Team {
    async fn replied(&self, agent: &AgentIdentity) -> Vec<MessageId> {
        let delivered = self.messages.deliver_with_reply(agent).await.unwrap();
        let items = delivered.map(|delivered| delivered.instructions).unwrap_or_default();
        items.into_iter().map(|instruction| instruction.id).collect()
    }

    /// An agent whose job is running.
    async fn at_work(&self, attempt: u32, role: &str) -> AgentIdentity {
        let agent = self.in_job(attempt).await;
        let id = agent.job.unwrap();
        let process = IncarnationId::generate();
        self.world
            .store
            .write(move |tx| Box::pin(async move { tx.job_start(id, process, 60_000).await }))
            .await
            .map_err(|fault: StoreError| fault)
            .unwrap();
        self.heartbeat(&agent, role).await;
        agent
    }

    async fn job_row(&self, id: JobId) -> Job {
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
    let ending: Ending = serde_json::from_value(job.stop_ending.unwrap()).unwrap();
    let Ending::Interrupted { reason } = ending else { panic!("{ending:?}") };
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

async fn an_agent_acts_in_the_role_of_its_token_only() {
    let team = Team::new().await;
    let job_agent = JobAgent { role: Some(named("developer")), ..JobAgent::default() };
    let dev = AgentIdentity { job_agent, ..team.in_job(1).await };

    let mut beat = team.beat("reviewer");
    let refused = team.messages.record_heartbeat(&dev, beat.clone()).await.unwrap_err();
    assert!(matches!(refused, MessageError::OtherRole { .. }), "{refused}");
    let report = team.report("work_completed", serde_json::json!({ "summary": "a" }));
    let as_reviewer =
        cynode_wire::apmas::ReportToPm { agent_role: named("reviewer"), ..report.clone() };
    let refused = team.messages.send_report(&dev, as_reviewer).await.unwrap_err();
    assert!(refused.to_string().contains("has the role developer"), "{refused}");
    let context = team.messages.load_context(&dev, team.context_request(Some("reviewer"))).await;
    assert!(matches!(context, Err(MessageError::OtherRole { .. })));

    beat.agent_role = None;
    team.messages.record_heartbeat(&dev, beat).await.unwrap();
    team.messages.send_report(&dev, report).await.unwrap();
    assert_eq!(team.inbox().await, [("developer".to_owned(), "work_completed".to_owned())]);
}
