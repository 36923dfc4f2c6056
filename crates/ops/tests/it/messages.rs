//! Messages between agents and the project manager.

use std::time::Duration;

use cynode_domain::agent::{HelpKind, NoteKind, Progress};
use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::policy::Principal;
use cynode_domain::status::JobStatus;
use cynode_ops::MessageError;
use cynode_resources::StoreError;
use cynode_resources::agents::AgentIdentity;
use cynode_runtime::clock::Clock as _;
use cynode_store::ListedProfiles;
use cynode_wire::apmas::{
    MessageQuery, ReportStatus, ReportToPm, RequestHelp, SaveAgentCheckpoint, SendMessage,
};
use serde_json::json;

use crate::engines::on_each_engine;
use crate::team::{Team, named};

on_each_engine! {
    a_report_said_twice_is_stored_once_until_the_manager_has_spoken,
    a_given_key_stands_for_one_report_only,
    a_payload_that_does_not_fit_its_report_is_refused_in_words,
    a_caller_has_one_role_and_a_role_one_caller,
    a_silent_agent_loses_its_role_and_can_say_no_more,
    the_role_of_a_job_that_ended_goes_to_the_next_job,
    an_instruction_is_told_once_and_shown_until_it_is_acknowledged,
    each_of_the_six_instructions_moves_the_agent_when_it_hears_of_it,
    an_instruction_to_a_role_that_nobody_has_is_refused,
    an_agent_writes_to_the_manager_and_to_nobody_else,
    who_needs_a_person_waits_until_the_manager_lets_it_go_on,
    a_status_moves_the_agent_and_names_each_file_once,
    last_words_can_be_repeated_and_nothing_else_said,
    a_checkpoint_saved_twice_is_kept_once_and_handed_to_the_successor,
    an_agent_sees_its_own_messages_and_the_manager_everybodys,
    the_manager_works_through_its_messages_and_each_is_done_once,
    nothing_is_said_about_a_closed_task_or_anothers,
}

fn status(team: &Team, status: Progress) -> ReportStatus {
    ReportStatus {
        task_id: team.task,
        agent_role: named("developer"),
        status,
        message: "so far".to_owned(),
        artifacts: vec!["a.rs".to_owned(), " ".to_owned(), "a.rs".to_owned()],
        blocked_reason: Some("no database".to_owned()),
        work_unit_id: None,
        idempotency_key: None,
    }
}

async fn a_report_said_twice_is_stored_once_until_the_manager_has_spoken() {
    let team = Team::new().await;
    let dev = team.agent();

    let first = team.messages.send_report(&dev, team.done("one")).await.unwrap();
    let again = team.messages.send_report(&dev, team.done("one")).await.unwrap();
    let other = team.messages.send_report(&dev, team.done("two")).await.unwrap();
    team.instruct("developer", "revise").await;
    let after = team.messages.send_report(&dev, team.done("one")).await.unwrap();

    assert_eq!((again.message_id, again.repeated), (first.message_id, true));
    assert!(!other.repeated && !after.repeated);
    assert_eq!(team.inbox().await.len(), 3);
    assert_eq!(after.instructions.len(), 1, "and the instruction came with the answer");
}

async fn a_given_key_stands_for_one_report_only() {
    let team = Team::new().await;
    let dev = team.agent();
    let with_key =
        |summary: &str| ReportToPm { idempotency_key: Some("r1".to_owned()), ..team.done(summary) };

    let first = team.messages.send_report(&dev, with_key("one")).await.unwrap();
    let again = team.messages.send_report(&dev, with_key("one")).await.unwrap();
    let refused = team.messages.send_report(&dev, with_key("two")).await;

    assert_eq!((again.message_id, again.repeated), (first.message_id, true));
    assert!(matches!(refused, Err(MessageError::KeyReused)));
}

async fn a_payload_that_does_not_fit_its_report_is_refused_in_words() {
    let team = Team::new().await;
    let dev = team.agent();
    for (kind, payload, word) in [
        ("work_completed", json!({ "filesModified": [] }), "summary"),
        ("tests_passed", json!({ "total": 2, "passed": 1, "failed": 1 }), "failed to be 0"),
        ("review_approved", json!({ "verdict": "changes_requested", "summary": "s" }), "verdict"),
        ("gossip", json!({}), "gossip"),
        ("work_completed", json!({ "summary": "s", "more": "x".repeat(70_000) }), "longer"),
    ] {
        let refused = team.messages.send_report(&dev, team.report(kind, payload)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(word), "{kind}: {refused}");
    }
    assert!(team.inbox().await.is_empty());
}

async fn a_caller_has_one_role_and_a_role_one_caller() {
    let team = Team::new().await;
    let (dev, other) = (team.agent(), team.agent());
    team.heartbeat(&dev, "developer").await;

    let as_tester = team.messages.record_heartbeat(&dev, team.beat("tester")).await;
    let taken = team.messages.record_heartbeat(&other, team.beat("developer")).await;

    assert!(matches!(as_tester, Err(MessageError::OtherRole { .. })));
    assert!(taken.unwrap_err().to_string().contains("developer-2"));
    team.heartbeat(&other, "developer-2").await;
}

async fn a_silent_agent_loses_its_role_and_can_say_no_more() {
    let team = Team::new().await;
    let (dev, next) = (team.agent(), team.agent());
    let beat = team.heartbeat(&dev, "developer").await;
    assert_eq!(beat.deadline, team.world.clock.now() + chrono::TimeDelta::minutes(10));

    team.world.clock.advance(Duration::from_secs(601));
    team.heartbeat(&next, "developer").await;
    let late = team.messages.send_report(&dev, team.done("late")).await;

    assert!(late.unwrap_err().to_string().contains("is aborted"));
    assert!(team.inbox().await.is_empty());
}

async fn the_role_of_a_job_that_ended_goes_to_the_next_job() {
    let team = Team::new().await;
    let (first, second) = (team.in_job(1).await, team.in_job(2).await);
    team.heartbeat(&first, "developer").await;
    let rotated = AgentIdentity { token_id: team.agent().token_id, ..first.clone() };
    team.heartbeat(&rotated, "developer").await;
    let early = team.messages.record_heartbeat(&second, team.beat("developer")).await;
    assert!(matches!(early, Err(MessageError::RoleTaken(_))));

    let job = first.job.unwrap();
    let closed: Result<bool, StoreError> = team
        .world
        .store
        .write(move |tx| Box::pin(async move { tx.job_close(job, JobStatus::Failed, None).await }))
        .await;

    assert!(closed.unwrap());
    team.heartbeat(&second, "developer").await;
}

async fn an_instruction_is_told_once_and_shown_until_it_is_acknowledged() {
    let team = Team::new().await;
    let dev = team.agent();
    team.heartbeat(&dev, "developer").await;
    let id = team.instruct("developer", "expand_scope").await;
    assert_eq!(team.instruct("developer", "expand_scope").await, id, "it waits already");

    let reported = team.heartbeat(&dev, "developer").await.instructions;
    let later = team.heartbeat(&dev, "developer").await.instructions;
    let shown =
        team.messages.load_context(&dev, team.context_request(Some("developer"))).await.unwrap();
    let mut beat = team.beat("developer");
    beat.acknowledge = vec![id, MessageId::generate()];
    team.messages.record_heartbeat(&dev, beat).await.unwrap();
    let over =
        team.messages.load_context(&dev, team.context_request(Some("developer"))).await.unwrap();

    assert_eq!(reported.iter().map(|reported| reported.id).collect::<Vec<_>>(), [id]);
    assert_eq!((later.len(), shown.instructions.len(), over.instructions.len()), (0, 1, 0));
    let message = team.messages.get(&team.world.bob, team.task, id).await.unwrap();
    assert!(message.delivered_at.is_some() && message.acknowledged_at.is_some());
    assert_ne!(
        team.instruct("developer", "expand_scope").await,
        id,
        "a repeated instruction is a new one"
    );
}

async fn each_of_the_six_instructions_moves_the_agent_when_it_hears_of_it() {
    let team = Team::new().await;
    let dev = team.agent();
    team.heartbeat(&dev, "developer").await;
    let mut seen = vec![];
    let kinds = ["pause", "continue", "revise", "expand_scope", "pause", "reduce_scope", "abort"];
    for kind in kinds {
        team.instruct("developer", kind).await;
        seen.push(team.heartbeat(&dev, "developer").await.agent_status);
    }

    let expected = ["paused", "running", "running", "running", "paused", "running", "aborted"];
    assert_eq!(seen, expected);
    let refused = team.messages.record_heartbeat(&dev, team.beat("developer")).await;
    assert!(refused.unwrap_err().to_string().contains("is aborted: stop here"));
}

async fn an_instruction_to_a_role_that_nobody_has_is_refused() {
    let team = Team::new().await;
    team.heartbeat(&team.agent(), "developer").await;

    let refused = team
        .messages
        .send_instruction(&team.world.bob, team.instruction("devloper", "pause"))
        .await;

    assert_eq!(
        refused.unwrap_err().to_string(),
        "the task has no devloper; its roles are: developer"
    );
}

async fn an_agent_writes_to_the_manager_and_to_nobody_else() {
    let team = Team::new().await;
    let dev = team.agent();
    let to = |to: &str| SendMessage {
        task_id: team.task,
        agent_role: named("developer"),
        to: to.to_owned(),
        kind: NoteKind::Question,
        content: "may I?".to_owned(),
        idempotency_key: None,
    };

    for other in ["reviewer", "all", "developer"] {
        let refused = team.messages.send(&dev, to(other)).await;
        assert!(matches!(refused, Err(MessageError::RecipientNotAllowed(_))), "{other}");
    }
    team.messages.send(&dev, to("supervisor")).await.unwrap();

    assert_eq!(team.inbox().await, [("developer".to_owned(), "question".to_owned())]);
}

async fn who_needs_a_person_waits_until_the_manager_lets_it_go_on() {
    let team = Team::new().await;
    let dev = team.agent();
    let help = |help_type| RequestHelp {
        task_id: team.task,
        agent_role: named("developer"),
        help_type,
        issue: "which colour?".to_owned(),
        target_agent: None,
        context: None,
        idempotency_key: None,
    };

    let decision = team.messages.request_help(&dev, help(HelpKind::PmDecision)).await.unwrap();
    let nameless = team.messages.request_help(&dev, help(HelpKind::Agent)).await;
    let human = team.messages.request_help(&dev, help(HelpKind::Human)).await.unwrap();
    let revived = team.messages.status(&dev, status(&team, Progress::Working)).await;
    let done = team.messages.complete(&dev, team.completion("developer")).await;
    team.instruct("developer", "continue").await;
    let beat = team.heartbeat(&dev, "developer").await;

    assert_eq!(
        (decision.agent_status.as_str(), human.agent_status.as_str()),
        ("running", "escalated")
    );
    assert!(nameless.unwrap_err().to_string().contains("targetAgent"));
    assert!(matches!(revived, Err(MessageError::WaitingForHelp(_))));
    assert!(matches!(done, Err(MessageError::IllegalMove(_))));
    assert_eq!(beat.agent_status, "running");
}

async fn a_status_moves_the_agent_and_names_each_file_once() {
    let team = Team::new().await;
    let dev = team.agent();
    let mut seen = vec![];
    for progress in [Progress::Working, Progress::ContextLimit, Progress::NeedsReview] {
        let said = team.messages.status(&dev, status(&team, progress)).await.unwrap();
        seen.push(said.agent_status);
    }
    let mut silent = status(&team, Progress::Blocked);
    silent.blocked_reason = None;
    let refused = team.messages.status(&dev, silent).await;
    let blocked = team.messages.status(&dev, status(&team, Progress::Blocked)).await.unwrap();

    assert_eq!(seen, ["running", "paused", "running"]);
    assert!(refused.unwrap_err().to_string().contains("blockedReason"));
    assert_eq!(blocked.agent_status, "escalated");
    let context =
        team.messages.load_context(&dev, team.context_request(Some("developer"))).await.unwrap();
    assert_eq!(context.agents.unwrap()[0].artifacts, ["a.rs"]);
}

async fn last_words_can_be_repeated_and_nothing_else_said() {
    let team = Team::new().await;
    let dev = team.agent();
    team.heartbeat(&dev, "developer").await;
    team.world.clock.advance(Duration::from_secs(90));

    let first = team.messages.complete(&dev, team.completion("developer")).await.unwrap();
    let again = team.messages.complete(&dev, team.completion("developer")).await.unwrap();
    let more = team.messages.send_report(&dev, team.done("more")).await;
    let next = team.agent();

    assert_eq!((first.elapsed_seconds, first.repeated), (90, false));
    assert_eq!((again.message_id, again.repeated), (first.message_id, true));
    assert!(matches!(more, Err(MessageError::Ended { .. })));
    team.messages.load_context(&dev, team.context_request(Some("developer"))).await.unwrap();
    team.heartbeat(&next, "developer").await;
}

async fn a_checkpoint_saved_twice_is_kept_once_and_handed_to_the_successor() {
    let team = Team::new().await;
    let (dev, next) = (team.agent(), team.agent());
    let checkpoint = SaveAgentCheckpoint {
        task_id: team.task,
        agent_role: named("developer"),
        summary: "half way".to_owned(),
        completed_items: vec!["a".to_owned(), "  ".to_owned()],
        pending_items: vec!["b".to_owned(), "c".to_owned()],
        active_files: vec![],
        notes: None,
    };

    let first = team.messages.checkpoint(&dev, checkpoint.clone()).await.unwrap();
    let again = team.messages.checkpoint(&dev, checkpoint).await.unwrap();
    team.messages.complete(&dev, team.completion("developer")).await.unwrap();
    let context =
        team.messages.load_context(&next, team.context_request(Some("developer"))).await.unwrap();

    assert_eq!((first.progress.as_str(), first.repeated), ("1/3 (33%)", false));
    assert_eq!((again.checkpoint_id, again.repeated), (first.checkpoint_id, true));
    assert_eq!(context.checkpoint.unwrap().summary, "half way");
}

async fn an_agent_sees_its_own_messages_and_the_manager_everybodys() {
    let team = Team::new().await;
    let (dev, tester) = (team.agent(), team.agent());
    team.messages.send_report(&dev, team.done("mine")).await.unwrap();
    team.heartbeat(&tester, "tester").await;
    let manager = AgentIdentity { agent: Principal::PM, ..team.agent() };

    let to_dev =
        team.messages.load_context(&dev, team.context_request(Some("developer"))).await.unwrap();
    let to_tester =
        team.messages.load_context(&tester, team.context_request(Some("tester"))).await.unwrap();
    let to_manager =
        team.messages.load_context(&manager, team.context_request(None)).await.unwrap();
    let nameless = team.messages.load_context(&dev, team.context_request(None)).await;

    let counts = [to_dev, to_tester, to_manager].map(|view| view.messages.unwrap().len());
    assert_eq!(counts, [1, 0, 1]);
    assert!(matches!(nameless, Err(MessageError::RoleMissing)));
}

async fn the_manager_works_through_its_messages_and_each_is_done_once() {
    let team = Team::new().await;
    let dev = team.agent();
    for summary in ["one", "two"] {
        team.messages.send_report(&dev, team.done(summary)).await.unwrap();
    }
    let query = || MessageQuery {
        unprocessed: true,
        oldest_first: true,
        limit: Some(1),
        ..MessageQuery::default()
    };
    let (bob, task) = (&team.world.bob, Some(team.task));

    let first = team.messages.list(bob, None, task, ListedProfiles::All, query()).await.unwrap();
    let id = first.items[0].id;
    let done = team.messages.mark_processed(bob, team.task, id).await.unwrap();
    let again = team.messages.mark_processed(bob, team.task, id).await.unwrap();
    let next = team.messages.list(bob, None, task, ListedProfiles::All, query()).await.unwrap();

    assert_eq!((first.items[0].content.as_str(), first.next_cursor.is_some()), ("one", true));
    assert!(done.processed_at.is_some() && done.processed_at == again.processed_at);
    assert_eq!((next.items[0].content.as_str(), next.next_cursor), ("two", None));
    let stranger = team.messages.get(bob, TaskId::generate(), id).await;
    assert!(matches!(stranger, Err(MessageError::Task(_))));
}

async fn nothing_is_said_about_a_closed_task_or_anothers() {
    let team = Team::new().await;
    let dev = team.agent();
    let stranger = AgentIdentity {
        caller: cynode_resources::Caller::on_behalf_of(
            cynode_domain::ids::UserId::generate(),
            "eve".to_owned(),
            false,
        ),
        ..team.agent()
    };

    let unseen = team.messages.record_heartbeat(&stranger, team.beat("developer")).await;
    team.tasks.cancel(&team.world.bob, &team.task.into()).await.unwrap();
    let closed = team.messages.record_heartbeat(&dev, team.beat("developer")).await;

    assert!(unseen.unwrap_err().to_string().contains("there is no task"));
    assert!(closed.unwrap_err().to_string().contains("canceled already"));
}
