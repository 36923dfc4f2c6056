//! Agents of units: who they are, what their messages do to the request, and what instructions do to them.

mod changes;
mod unit_agent;

use cynode_domain::agent::Role;
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::question::{QuestionKind, Reply};
use cynode_domain::request::QuestionSubject;
use cynode_domain::status::{ShownTaskStatus, WorkUnitStatus};
use cynode_ops::MessageError;
use cynode_requests::RequestError;
use cynode_wire::apmas::RequestHelp;
use serde_json::json;

use crate::world::{ChildEnd, RequestFixture, patch};
use unit_agent::{instruction, until_implementation};

#[tokio::test]
async fn the_token_of_an_attempt_binds_its_unit_and_the_role_of_its_kind() {
    for (scope, unit, role) in
        [("large", "spec:main", "architect"), ("small", "impl:main", "developer")]
    {
        for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
            world.plan(scope, &[("main", &[])]);
            let view = until_implementation(&world).await;

            let agent = world.start_agent(view.id, unit).await;

            let bound = &agent.identity.job_agent;
            assert_eq!(bound.role.as_ref().map(Role::as_str), Some(role), "{unit}");
            assert_eq!(bound.work_unit.as_deref(), Some(unit));
            let foreign = agent.work.submit_unit(&agent.identity, agent.submission("impl:other"));
            assert!(foreign.await.is_err(), "{unit}: a foreign unit");
        }
    }
}

#[tokio::test]
async fn what_an_agent_reports_is_shown_and_completes_nothing() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        agent.beat("half of it").await;
        agent.checkpoint("markup done").await;
        agent.checkpoint("markup done").await;
        let done =
            agent.report("work_completed", json!({ "summary": "done", "workUnitId": "impl:main" }));
        let said = agent.messages.send_report(&agent.identity, done.clone()).await.unwrap();
        let again = agent.messages.send_report(&agent.identity, done).await.unwrap();
        let submitted = agent.work.submit_unit(&agent.identity, agent.submission("impl:main"));
        let submitted = submitted.await.unwrap();

        assert!(said.note.unwrap().contains("does not complete the unit"), "the gate decides");
        assert!(submitted.note.is_some() && !submitted.repeated);
        assert_eq!((again.message_id, again.repeated), (said.message_id, true));
        world.advance().await;
        let shown = world.get(&view).await;
        let unit = &shown.units[0];
        assert_eq!(unit.status, WorkUnitStatus::InProgress, "a message approves nothing");
        assert_eq!(unit.attempts[0].progress.as_deref(), Some("half of it"));
        assert_eq!(unit.attempts[0].checkpoint.as_deref(), Some("1/2 (50%): markup done"));
        // PostgreSQL shows an event once no older transaction of its server is open, and tests share a server.
        let mut reports = world.unit_reports(view.id).await;
        while reports.len() < 3 {
            tokio::task::yield_now().await;
            reports = world.unit_reports(view.id).await;
        }
        let kinds: Vec<_> = reports.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["checkpoint", "work_completed", "submitted"], "each once");
        assert!(world.get(&view).await.question.is_none());
    }
}

#[tokio::test]
async fn a_verdict_counts_only_from_the_role_that_has_the_unit() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    let tests = json!({ "total": 1, "passed": 1, "failed": 0, "failures": [] });
    let approval = json!({ "verdict": "approved", "summary": "fine" });

    for report in [agent.report("review_approved", approval), agent.report("tests_passed", tests)] {
        let refused = agent.messages.send_report(&agent.identity, report).await.unwrap_err();
        assert!(refused.to_string().contains("belongs to the role"), "{refused}");
    }
    assert_eq!(world.unit_reports(view.id).await, [], "what is refused is not recorded");
}

#[tokio::test]
async fn a_question_of_an_agent_is_a_question_of_the_request_and_the_answer_reaches_the_agent() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        let id = agent.ask("Which colour?").await;
        assert_eq!(agent.ask("Which colour?").await, id, "repeated");
        let second = agent.ask("Which font?").await;

        let asked = world.get(&view).await.question.unwrap();
        let unit = "impl:main".to_owned();
        assert_eq!(asked.subject, QuestionSubject::AgentMessage { unit, message_id: id });
        assert_eq!(asked.question.kind, QuestionKind::Clarification);
        assert!(asked.question.text.contains("Which colour?"), "{}", asked.question.text);
        let waiting =
            agent.messages.waiting(&world.bob, serde_json::from_value(json!({})).unwrap());
        let waiting: Vec<_> =
            waiting.await.unwrap().items.into_iter().map(|item| item.message.id).collect();
        assert_eq!(waiting, [second], "one question at a time: the other one waits as a message");

        world.answer(&view, Reply::Text { text: "Dark blue".to_owned() }).await;
        assert!(world.get(&view).await.question.is_none());
        assert_eq!(agent.replied().await, [("continue".to_owned(), "Dark blue".to_owned())]);
        world.end(view.id, "impl:main", ChildEnd::Failed("lost".to_owned())).await;
        let next = world.child(view.id, "impl:main").await.spec.prompt;
        assert!(next.contains("Dark blue"), "the next attempt knows it too: {next}");
    }
}

#[tokio::test]
async fn only_a_person_answers_an_agent_that_needs_one() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    let help = json!({ "task_id": agent.task, "agentRole": agent.role, "helpType": "human",
        "issue": "May I delete it?" });
    let help: RequestHelp = serde_json::from_value(help).unwrap();

    let said = agent.messages.request_help(&agent.identity, help).await.unwrap();

    assert_eq!(said.agent_status, "escalated");
    let asked = world.get(&view).await.question.unwrap();
    assert_eq!(asked.question.kind, QuestionKind::Approval);
    let body = cynode_wire::requests::AnswerRequest {
        reply: Reply::Text { text: "Yes, do".to_owned() },
        comment: None,
    };
    let actor = cynode_resources::ActorKind::Agent;
    let refused = world.requests.answer_as(&world.bob, &view.id.into(), body, actor).await;
    assert!(matches!(refused, Err(RequestError::PeopleOnly)), "{refused:?}");
    world.answer(&view, Reply::Text { text: "No, keep it".to_owned() }).await;
    assert_eq!(agent.replied().await, [("continue".to_owned(), "No, keep it".to_owned())]);
}

#[tokio::test]
async fn messages_after_the_end_of_an_attempt_change_nothing() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    world.end(view.id, "impl:main", patch("a.rs")).await;

    let late = agent.report("needs_clarification", json!({ "question": "And now?" }));
    let refused = agent.messages.send_report(&agent.identity, late).await;

    assert!(matches!(refused, Err(MessageError::Task(_))), "{refused:?}");
    assert!(world.get(&view).await.question.is_none());
    assert_eq!(world.unit_reports(view.id).await, []);
}

#[tokio::test]
async fn the_next_attempt_gets_the_newest_checkpoint_of_the_one_that_failed() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;
        agent.checkpoint("nothing yet").await;
        agent.checkpoint("markup done").await;
        world.end(view.id, "impl:main", ChildEnd::Failed("out of memory".to_owned())).await;

        let second = world.child(view.id, "impl:main").await.spec.prompt;
        assert!(second.contains("markup done\n[x] the markup\n[ ] the script"), "{second}");
        assert!(!second.contains("nothing yet"), "only the newest");
        // It fails before it saves one: the older one still tells what is done.
        world.end(view.id, "impl:main", ChildEnd::Failed("again".to_owned())).await;
        let third = world.child(view.id, "impl:main").await.spec.prompt;
        assert!(third.contains("[ ] the script") && third.contains("Reduce the scope"), "{third}");
        world.end(view.id, "impl:main", patch("a.rs")).await;
        let reviewing = world.child(view.id, "review:main").await.spec.prompt;
        assert!(!reviewing.contains("[ ] the script"), "another unit: {reviewing}");
    }
}

#[tokio::test]
async fn an_instruction_reaches_the_agent_of_a_unit_with_its_next_reply() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    // Its job has not started: it gets the instruction when it has.
    world.instruct(&view, "impl:main", "revise", "Use tabs").await;
    let agent = world.start_agent(view.id, "impl:main").await;
    assert_eq!(agent.replied().await, [("revise".to_owned(), "Use tabs".to_owned())]);

    world.instruct(&view, "impl:main", "pause", "Wait").await;
    assert_eq!(agent.replied().await, [("pause".to_owned(), "Wait".to_owned())]);
    world.instruct(&view, "impl:main", "continue", "Go on").await;
    assert_eq!(agent.replied().await, [("continue".to_owned(), "Go on".to_owned())]);

    let eve = cynode_resources::Caller::on_behalf_of(
        cynode_domain::ids::UserId::generate(),
        "eve".to_owned(),
        false,
    );
    let foreign = instruction("impl:main", "abort", "Stop");
    let refused = world.requests.instruct_unit(&eve, &view.id.into(), foreign).await;
    assert!(matches!(refused, Err(RequestError::NotFound(_))), "{refused:?}");
    let early = instruction("review:main", "pause", "Wait");
    let refused = world.requests.instruct_unit(&world.bob, &view.id.into(), early).await;
    assert!(matches!(refused, Err(RequestError::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn an_abort_ends_the_attempt_and_the_unit_goes_on_as_after_a_failure() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let mut before = vec![];
        for _ in 0..3 {
            let agent = world.start_agent(view.id, "impl:main").await;
            assert!(!before.contains(&agent.task), "another attempt");
            before.push(agent.task);
            world.instruct(&view, "impl:main", "abort", "It goes astray").await;
            let ended = world.tasks.get(&world.bob, &agent.task.into()).await.unwrap();
            assert_eq!(ended.status, ShownTaskStatus::Failed);
            agent.end_job().await;
            world.wake(view.id).await;
        }
        let asked = world.get(&view).await.question.unwrap();
        assert_eq!(asked.subject, QuestionSubject::UnitFailed { unit: "impl:main".to_owned() });
        assert!(asked.question.about[0].contains("It goes astray"), "{:?}", asked.question.about);
    }
}

#[tokio::test]
async fn a_change_of_scope_replaces_the_attempt_by_one_with_the_changed_task() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        world.instruct(&view, "impl:main", "reduce_scope", "Leave out the animation").await;
        agent.end_job().await;
        world.wake(view.id).await;

        let next = world.child(view.id, "impl:main").await;
        assert_ne!(next.spec.id, agent.task);
        assert!(
            next.spec.prompt.contains("Do less: Leave out the animation"),
            "{}",
            next.spec.prompt
        );
        // No agent has started on it yet, and its scope changes again.
        world.instruct(&view, "impl:main", "expand_scope", "Add a keyboard shortcut").await;
        let newest = world.child(view.id, "impl:main").await;
        let prompt = &newest.spec.prompt;
        assert!(
            prompt.contains("Do less: Leave out") && prompt.contains("Do also: Add a key"),
            "{prompt}"
        );
        // The scope of a unit that waits changes before its first attempt.
        world.instruct(&view, "review:main", "reduce_scope", "Look at the script only").await;
        world.end(view.id, "impl:main", patch("a.rs")).await;
        let reviewing = world.child(view.id, "review:main").await.spec.prompt;
        assert!(reviewing.contains("Do less: Look at the script only"), "{reviewing}");
        let shown = world.get(&view).await;
        assert_eq!(shown.units[0].attempts.len(), 3, "none of them counts as a failure");
        assert!(shown.question.is_none());
        let late = instruction("impl:main", "expand_scope", "More");
        let refused = world.requests.instruct_unit(&world.bob, &view.id.into(), late).await;
        assert!(matches!(refused, Err(RequestError::Invalid(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn agents_are_paused_with_their_request_and_a_repetition_reaches_those_in_another_state() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;
        let id: NameOrId<TaskId> = view.id.into();
        let (requests, bob) = (&world.requests, &world.bob);

        requests.pause(bob, &id).await.unwrap();
        requests.resume(bob, &id).await.unwrap();
        requests.pause(bob, &id).await.unwrap();
        requests.pause(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, ["pause", "continue", "pause"], "each change once");
        requests.pause(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, Vec::<String>::new(), "it waits already");

        // The flags are cleared, but the agents were not instructed.
        let (request, child) = (view.id, agent.task);
        let cleared = world.store.write(move |tx| {
            Box::pin(async move {
                tx.task_resume(child).await?;
                tx.task_resume(request).await
            })
        });
        let cleared: Result<bool, cynode_store::Error> = cleared.await;
        assert!(cleared.unwrap());
        requests.resume(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, ["continue"]);
        requests.resume(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, Vec::<String>::new(), "it goes on already");
    }
}

#[tokio::test]
async fn a_review_judges_the_scope_that_the_implementation_was_given() {
    let report = json!({
        "verdict": "approved", "summary": "read",
        "criteria": [{
            "number": 1, "isMet": false, "isOutOfScope": true, "evidence": "Do less: Leave out the toggle",
        }],
    });
    for (is_reduced, expected) in
        [(true, WorkUnitStatus::Completed), (false, WorkUnitStatus::InProgress)]
    {
        let world = RequestFixture::sqlite().await;
        let view = until_implementation(&world).await;
        if is_reduced {
            world.instruct(&view, "impl:main", "reduce_scope", "Leave out the toggle").await;
        }
        world.end(view.id, "impl:main", patch("a.rs")).await;

        let prompt = world.child(view.id, "review:main").await.spec.prompt;
        assert_eq!(prompt.contains("- Do less: Leave out the toggle"), is_reduced, "{prompt}");
        world.end(view.id, "review:main", ChildEnd::File("review.json", report.to_string())).await;

        let shown = world.get(&view).await;
        let unit = shown.units.iter().find(|unit| unit.id == "review:main").unwrap();
        assert_eq!(unit.status, expected, "{shown:#?}");
        let is_noted =
            shown.notes.iter().any(|note| note.contains("requirement 1 is out of scope"));
        assert_eq!(is_noted, is_reduced, "{:?}", shown.notes);
    }
}
