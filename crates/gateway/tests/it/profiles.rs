//! Profiles of tokens narrow what they may call.

use cynode_domain::ids::{JobId, ProfileId, ProjectId, RunId, TaskId};
use cynode_ops::access::{Audience, ToolAccessExplainer as _};
use cynode_resources::profiles::NarrowingProfile;
use serde_json::json;

use crate::enforcement::{names, pair};
use crate::harness::Harness;

#[tokio::test]
async fn a_profile_hides_and_denies_the_tools_that_it_does_not_allow_and_grants_none() {
    let harness = Harness::new().await;
    let (narrow, unreadable) = (ProfileId::generate(), ProfileId::generate());
    harness
        .change(|world| {
            let spec = json!({ "tools": ["db.task.*", "files.echo", "apmas_complete"] });
            world.profiles = vec![
                NarrowingProfile {
                    id: narrow,
                    name: "web".to_owned(),
                    spec: Some(serde_json::from_value(spec).unwrap()),
                },
                NarrowingProfile { id: unreadable, name: String::new(), spec: None },
            ];
        })
        .await;
    let everything = names(&harness, "pm").await;

    harness.bind("pm", |identity| identity.profile_id = Some(narrow));
    harness.bind("pa", |identity| identity.profile_id = Some(unreadable));
    // A policy change drops cached identities.
    harness.change(|_| ()).await;
    let shown = names(&harness, "pm").await;

    assert!(everything.contains(&"node.list".to_owned()));
    assert!(
        shown.iter().all(|name| name.starts_with("db.task.") || name == "files.echo"),
        "{shown:?}"
    );
    assert!(shown.contains(&"db.task.list".to_owned()) && shown.contains(&"files.echo".to_owned()));
    assert_eq!(names(&harness, "pa").await, Vec::<String>::new());
    for (token, tool, expected) in [
        ("pm", "node.list", pair("rules", "policy_violation")),
        // It names no tool of another role.
        ("pm", "apmas_complete", pair("allowlist", "agent_allowlist_denied")),
        ("pa", "db.task.get", pair("rules", "policy_violation")),
    ] {
        assert_eq!(harness.refusal(token, tool, json!({})).await, expected, "{token} {tool}");
    }
    let identity = harness.backend.tokens.lock().unwrap()["pm"].clone();
    let view = harness.gateway.explain(&identity, "node.list", None, Audience::Registry).await;
    let reasons: Vec<_> = view.stages.iter().map(|stage| stage.reason.clone()).collect();
    let reason = "the profile \"web\" of this token does not allow \"node.list\"";
    assert!(!view.allowed && reasons.iter().any(|it| it == reason), "{reasons:?}");
}

#[tokio::test]
async fn ids_of_another_profile_are_unknown_to_an_agent_and_known_to_a_person() {
    let harness = Harness::new().await;
    let (own, foreign, project) = (TaskId::generate(), TaskId::generate(), ProjectId::generate());
    let (job, run) = (JobId::generate(), RunId::generate());
    harness.backend.tasks.lock().unwrap().extend([(own, project), (foreign, project)]);
    harness.backend.profiles.lock().unwrap().insert(foreign, ProfileId::generate());
    harness.backend.jobs.lock().unwrap().insert(job, foreign);
    harness.backend.runs.lock().unwrap().insert(run, foreign);
    let default = ProfileId::default_of(project);
    let calls = [
        ("db.task.get", json!({ "task_id": foreign })),
        ("db.job.get", json!({ "job_id": job })),
        ("db.run.get", json!({ "run_id": run })),
    ];
    // A token that is bound to no project, that of an earlier release, and one of the project.
    for (bound, profile) in
        [(None, Some(ProfileId::generate())), (Some(project), None), (Some(project), Some(default))]
    {
        harness.bind("pm", |identity| {
            (identity.project, identity.profile_id) = (bound, profile);
        });
        harness.change(|_| ()).await;

        let reached = harness.refusal("pm", "db.task.get", json!({ "task_id": own })).await;
        assert_eq!(reached, pair("invoke", "not_found"), "let through; the database is empty");
        for (tool, arguments) in &calls {
            let refusal = harness.refusal("pm", tool, arguments.clone()).await;
            assert_eq!(refusal, pair("context", "context_mismatch"), "{tool} {bound:?}");
        }
    }
    // The task of the token is its own, and a person has no profile.
    harness.bind("pm", |identity| {
        (identity.task, identity.project) = (Some(foreign), Some(project));
    });
    harness.change(|_| ()).await;
    for token in ["pm", "user"] {
        for (tool, arguments) in &calls {
            let refusal = harness.refusal(token, tool, arguments.clone()).await;
            assert_eq!(refusal, pair("invoke", "not_found"), "{token} {tool}");
        }
    }
}
