//! Hostile texts in submissions, each with a clean twin: the plan, the agents, their tools, and what is pushed stay the same.

use std::path::Path;
use std::sync::atomic::Ordering;

use cynode_domain::request::RequestSettings;
use cynode_store::Task;
use cynode_wire::requests::{RequestView, SubmitRequest};
use serde_json::{Value, json};

use crate::world::{RequestFixture, submission, unit_of};

/// What decides about the tools of an agent and about its result: everything but its prompt and its name.
fn orders(children: &[Task]) -> Vec<Value> {
    let order = |child: &Task| {
        let mut options = json!(child.spec.options);
        // Named after the task, and pushed by no unit.
        assert!(options["repository"]["branch"].as_str().unwrap().starts_with("cynode/"));
        options["repository"]["branch"] = Value::Null;
        // The first line of the request, as people read it.
        options["repository"]["commit_subject"] = Value::Null;
        json!([
            unit_of(child),
            child.spec.input_mode,
            child.spec.commands,
            child.spec.acceptance_criteria,
            options,
        ])
    };
    children.iter().map(order).collect()
}

fn plan(view: &RequestView) -> Value {
    let units: Vec<_> = view.units.iter().map(|unit| (&unit.id, &unit.role, unit.status)).collect();
    let (kind, scope) = (view.kind.as_ref().unwrap(), view.scope.as_ref().unwrap());
    json!([kind.value, scope.value, view.workflow, units, view.test_commands, view.requirements])
}

#[tokio::test]
async fn a_hostile_submission_is_planned_and_ordered_like_its_clean_twin() {
    let world = RequestFixture::sqlite().await;
    world.add_provider().await;
    world.manager.is_absent.store(true, Ordering::SeqCst);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../planning/tests/corpus");
    let corpus = std::fs::read_to_string(corpus.join("injections.jsonl")).unwrap();
    let mut count = 0;
    for line in corpus.lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        if !["issue", "comment", "html_comment"].contains(&pair["source"].as_str().unwrap()) {
            continue;
        }
        count += 1;
        let mut seen = vec![];
        for text in [&pair["clean"], &pair["hostile"]] {
            let body = SubmitRequest {
                text: text.as_str().unwrap().to_owned(),
                force: true,
                ..submission(RequestSettings::default())
            };
            let view = world.requests.submit(&world.bob, body).await.unwrap();
            world.advance().await;
            world.end_context(view.id).await;
            let children = world.open_children(view.id).await;
            assert!(!children.is_empty());
            seen.push((plan(&world.get(&view).await), orders(&children)));
            world.tasks.cancel(&world.bob, &view.id.into()).await.unwrap();
        }
        assert_eq!(seen[0], seen[1], "{}", pair["hostile"]);
    }
    assert!(count >= 30, "{count}");
}
