//! Work that is handed from role to role.

use cynode_domain::agent::Progress;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_ops::{MessageError, WorkError};
use cynode_resources::agents::AgentIdentity;
use cynode_wire::apmas::ReportStatus;
use cynode_wire::work::{
    CreatePlan, Decision, RouteWork, RoutedView, SubmitWork, SubmittedView, WorkFilter, WorkQuery,
};
use serde_json::{Value, json};

use crate::engines::on_each_engine;
use crate::team::{Team, named};

on_each_engine! {
    work_goes_from_role_to_role_until_the_plan_is_done,
    the_same_plan_again_changes_nothing_and_another_is_refused,
    a_plan_that_cannot_be_done_is_not_kept,
    only_the_role_of_a_unit_hands_it_in_and_only_when_it_may_begin,
    a_unit_that_one_agent_began_is_not_handed_in_by_another,
    handing_in_and_deciding_twice_change_nothing,
    a_unit_sent_back_tells_its_agent_everything_but_minor_issues,
    the_third_revision_is_refused_and_the_unit_can_be_approved_with_notes,
    a_blocked_unit_goes_on_when_it_is_resumed_and_a_failed_one_never,
    a_status_about_a_foreign_unit_is_not_said_at_all,
    units_are_shown_by_filter_component_and_page,
}

fn plan(team: &Team, components: &Value) -> CreatePlan {
    let request = json!({ "task_id": team.task, "components": components });
    serde_json::from_value(request).unwrap()
}

async fn planned(units: &[&str]) -> Team {
    let team = Team::new().await;
    let auth = json!([{ "name": "auth", "description": "signing in", "units": units }]);
    team.work.plan(&team.world.bob, plan(&team, &auth)).await.unwrap();
    team
}

fn handing_in(team: &Team, role: &str, unit: &str) -> SubmitWork {
    SubmitWork {
        task_id: team.task,
        agent_role: named(role),
        work_unit_id: unit.to_owned(),
        artifact_path: "docs/auth.md".to_owned(),
        summary: "done".to_owned(),
        metadata: None,
    }
}

async fn submit(team: &Team, who: &AgentIdentity, role: &str, unit: &str) -> SubmittedView {
    team.work.submit_unit(who, handing_in(team, role, unit)).await.unwrap()
}

fn decision(team: &Team, unit: &str, decision: Decision) -> RouteWork {
    RouteWork {
        task_id: team.task,
        work_unit_id: unit.to_owned(),
        decision,
        feedback: None,
        notes: None,
    }
}

async fn route(team: &Team, unit: &str, what: Decision) -> RoutedView {
    team.work.route(&team.world.bob, decision(team, unit, what)).await.unwrap()
}

async fn send_back(team: &Team, unit: &str, feedback: Value) -> Result<RoutedView, WorkError> {
    let back = RouteWork { feedback: Some(feedback), ..decision(team, unit, Decision::Revision) };
    team.work.route(&team.world.bob, back).await
}

async fn status(team: &Team, unit: &str) -> Status {
    team.work.get(&team.world.bob, team.task, unit).await.unwrap().status
}

async fn work_goes_from_role_to_role_until_the_plan_is_done() {
    let team = planned(&["spec", "implementation", "review"]).await;
    let (architect, developer, reviewer) = (team.agent(), team.agent(), team.agent());

    submit(&team, &architect, "architect", "spec:auth").await;
    let spec = route(&team, "spec:auth", Decision::Approve).await;
    submit(&team, &developer, "developer", "impl:auth").await;
    route(&team, "impl:auth", Decision::Approve).await;
    submit(&team, &reviewer, "reviewer", "review:auth").await;
    let last = route(&team, "review:auth", Decision::Approve).await;

    assert_eq!(spec.assigned, ["impl:auth"]);
    assert_eq!(last.completed, ["spec:auth", "impl:auth", "review:auth"]);
    assert!(last.plan_completed);
    let seen = team.work.status(&team.world.bob, team.task, WorkQuery::default()).await.unwrap();
    assert_eq!((seen.progress_percent, seen.completed_at.is_some()), (100, true));
    assert_eq!(team.inbox().await.len(), 3, "every submission waits for the manager");
}

async fn the_same_plan_again_changes_nothing_and_another_is_refused() {
    let team = planned(&["implementation"]).await;
    let same =
        json!([{ "name": "auth", "description": "signing in", "units": ["implementation"] }]);
    let other = json!([{ "name": "ui", "description": "looks" }]);

    let again = team.work.plan(&team.world.bob, plan(&team, &same)).await.unwrap();
    let refused = team.work.plan(&team.world.bob, plan(&team, &other)).await;

    assert_eq!(again.total_work_units, 1);
    assert!(matches!(refused, Err(WorkError::PlanExists)));
}

async fn a_plan_that_cannot_be_done_is_not_kept() {
    let team = Team::new().await;
    let circle = json!([
        { "name": "a", "description": "a", "dependencies": ["b"] },
        { "name": "b", "description": "b", "dependencies": ["a"] },
    ]);

    let refused = team.work.plan(&team.world.bob, plan(&team, &circle)).await;
    let none = team.work.status(&team.world.bob, team.task, WorkQuery::default()).await;

    assert!(refused.unwrap_err().to_string().contains("wait for each other"));
    assert!(matches!(none, Err(WorkError::NoPlan)));
}

async fn only_the_role_of_a_unit_hands_it_in_and_only_when_it_may_begin() {
    let team = planned(&["spec", "implementation"]).await;
    let (architect, developer) = (team.agent(), team.agent());

    let early =
        team.work.submit_unit(&developer, handing_in(&team, "developer", "impl:auth")).await;
    let foreign =
        team.work.submit_unit(&developer, handing_in(&team, "developer", "spec:auth")).await;
    let unknown =
        team.work.submit_unit(&architect, handing_in(&team, "architect", "spec:ui")).await;
    let outside = SubmitWork {
        artifact_path: "../secrets".to_owned(),
        ..handing_in(&team, "architect", "spec:auth")
    };
    let outside = team.work.submit_unit(&architect, outside).await;

    assert!(matches!(early, Err(WorkError::IllegalMove(_))));
    assert!(matches!(foreign, Err(WorkError::OtherRole { .. })));
    assert!(matches!(unknown, Err(WorkError::NotFound(_))));
    assert!(matches!(outside, Err(WorkError::Invalid(_))));
    assert_eq!(status(&team, "spec:auth").await, Status::Assigned);
}

async fn a_unit_that_one_agent_began_is_not_handed_in_by_another() {
    let team = planned(&["implementation"]).await;
    let (first, second) = (team.agent(), team.agent());
    let begins = ReportStatus {
        task_id: team.task,
        agent_role: named("developer"),
        status: Progress::Working,
        message: "on it".to_owned(),
        artifacts: vec![],
        blocked_reason: None,
        work_unit_id: Some("impl:auth".to_owned()),
        idempotency_key: None,
    };
    team.messages.status(&first, begins).await.unwrap();
    assert_eq!(status(&team, "impl:auth").await, Status::InProgress);

    let refused =
        team.work.submit_unit(&second, handing_in(&team, "developer-2", "impl:auth")).await;
    team.messages.complete(&first, team.completion("developer")).await.unwrap();
    let taken_over = submit(&team, &second, "developer-2", "impl:auth").await;

    assert!(matches!(refused, Err(WorkError::HeldByOtherAgent(_))));
    assert_eq!(taken_over.work_unit.status, Status::Submitted);
}

async fn handing_in_and_deciding_twice_change_nothing() {
    let team = planned(&["spec", "implementation"]).await;
    let architect = team.agent();

    let first = submit(&team, &architect, "architect", "spec:auth").await;
    let again = submit(&team, &architect, "architect", "spec:auth").await;
    let approved = route(&team, "spec:auth", Decision::Approve).await;
    let twice = route(&team, "spec:auth", Decision::Approve).await;

    assert_eq!((first.repeated, again.repeated), (false, true));
    assert_eq!((approved.repeated, twice.repeated), (false, true));
    assert_eq!(twice.assigned, Vec::<String>::new());
    assert_eq!(team.inbox().await.len(), 1);
}

async fn a_unit_sent_back_tells_its_agent_everything_but_minor_issues() {
    let team = planned(&["implementation"]).await;
    let developer = team.agent();
    submit(&team, &developer, "developer", "impl:auth").await;
    let issue = json!({ "description": "off by one", "fileLocation": "a.rs:1", "howToFix": "-1" });
    let feedback = json!({
        "verdict": "changes_requested", "summary": "nearly",
        "criticalIssues": [issue.clone()], "minorIssues": [issue],
    });

    let back = send_back(&team, "impl:auth", feedback.clone()).await.unwrap();
    let twice = send_back(&team, "impl:auth", feedback.clone()).await.unwrap();
    let reported = team.heartbeat(&developer, "developer").await.instructions;

    assert_eq!((back.work_unit.revision_count, back.repeated, twice.repeated), (1, false, true));
    assert_eq!(back.work_unit.revision_feedback, Some(feedback));
    assert_eq!((reported.len(), reported[0].instruction_type.as_str()), (1, "revise"));
    let handed_on = &reported[0].context["feedback"];
    assert_eq!(handed_on["criticalIssues"].as_array().unwrap().len(), 1);
    assert_eq!(handed_on["minorIssues"], json!([]));
}

async fn the_third_revision_is_refused_and_the_unit_can_be_approved_with_notes() {
    let team = planned(&["implementation"]).await;
    let developer = team.agent();
    for round in 0..2 {
        submit(&team, &developer, "developer", "impl:auth").await;
        send_back(&team, "impl:auth", json!(format!("round {round}"))).await.unwrap();
    }
    submit(&team, &developer, "developer", "impl:auth").await;

    let third = send_back(&team, "impl:auth", json!("again")).await;
    let notes = RouteWork {
        notes: Some("the colour is wrong".to_owned()),
        ..decision(&team, "impl:auth", Decision::Approve)
    };
    let approved = team.work.route(&team.world.bob, notes).await.unwrap();

    assert!(matches!(third, Err(WorkError::TooManyRevisions(_))));
    assert_eq!(approved.work_unit.notes.as_deref(), Some("the colour is wrong"));
    let nothing_said =
        team.work.route(&team.world.bob, decision(&team, "impl:auth", Decision::Revision)).await;
    assert!(nothing_said.unwrap_err().to_string().contains("feedback is missing"));
}

async fn a_blocked_unit_goes_on_when_it_is_resumed_and_a_failed_one_never() {
    let team = planned(&["implementation"]).await;
    let developer = team.agent();
    let blocks = ReportStatus {
        task_id: team.task,
        agent_role: named("developer"),
        status: Progress::Blocked,
        message: "stuck".to_owned(),
        artifacts: vec![],
        blocked_reason: Some("no database".to_owned()),
        work_unit_id: Some("impl:auth".to_owned()),
        idempotency_key: None,
    };
    team.messages.status(&developer, blocks).await.unwrap();
    assert_eq!(status(&team, "impl:auth").await, Status::Blocked);

    let resumed = route(&team, "impl:auth", Decision::Resume).await;
    let failed = route(&team, "impl:auth", Decision::Fail).await;
    let approved =
        team.work.route(&team.world.bob, decision(&team, "impl:auth", Decision::Approve)).await;

    assert_eq!(resumed.work_unit.status, Status::Assigned);
    assert_eq!(failed.work_unit.status, Status::Failed);
    assert!(matches!(approved, Err(WorkError::IllegalMove(_))));
}

async fn a_status_about_a_foreign_unit_is_not_said_at_all() {
    let team = planned(&["spec"]).await;
    let developer = team.agent();
    let foreign = ReportStatus {
        task_id: team.task,
        agent_role: named("developer"),
        status: Progress::Working,
        message: "on it".to_owned(),
        artifacts: vec![],
        blocked_reason: None,
        work_unit_id: Some("spec:auth".to_owned()),
        idempotency_key: None,
    };

    let refused = team.messages.status(&developer, foreign).await;

    assert!(matches!(refused, Err(MessageError::Work(_))));
    assert!(team.inbox().await.is_empty());
}

async fn units_are_shown_by_filter_component_and_page() {
    let team = Team::new().await;
    let two = json!([
        { "name": "api", "description": "a" },
        { "name": "ui", "description": "b", "dependencies": ["api"], "skipDesign": true },
    ]);
    team.work.plan(&team.world.bob, plan(&team, &two)).await.unwrap();
    let ask =
        async |query: WorkQuery| team.work.status(&team.world.bob, team.task, query).await.unwrap();

    let first = ask(WorkQuery { limit: Some(5), ..WorkQuery::default() }).await;
    let rest = ask(WorkQuery { cursor: first.next_cursor.clone(), ..WorkQuery::default() }).await;
    let of_ui = ask(WorkQuery { component: Some("ui".to_owned()), ..WorkQuery::default() }).await;
    let waiting = ask(WorkQuery { filter: WorkFilter::Submitted, ..WorkQuery::default() }).await;

    assert_eq!((first.items.len(), rest.items.len(), first.total_work_units), (5, 4, 9));
    assert_eq!((of_ui.items.len(), waiting.items.len()), (4, 0));
    assert_eq!(rest.next_cursor, None);
}
