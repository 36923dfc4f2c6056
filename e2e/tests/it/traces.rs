//! One trace over the planner, the workers and the verification of a run, with real processes.

use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::traces::{TraceQuery, TraceSpan, TraceSpanKind, TraceView};

use crate::project_manager::{
    JUDGING, PLANNING, done, judgement_answer, plan_answer, prompt_task, system,
    with_prose_criterion,
};
use crate::system::{PATIENCE, System};

/// The trace of a task's run, once it has an event of this kind of handoff.
async fn read_trace(system: &System, task: &str, handoff: &str) -> TraceView {
    let trace = system.client.run_get(task).await.unwrap().run.trace_id;
    let begun = std::time::Instant::now();
    loop {
        let view = system.client.trace_get(trace, &TraceQuery::default()).await.unwrap();
        // Handoffs record their events when they are closed.
        if view.spans.iter().any(|span| is_event(span, "execution_stopped", handoff)) {
            return view;
        }
        assert!(begun.elapsed() < PATIENCE, "no event of {handoff}: {view:#?}");
        tokio::task::yield_now().await;
    }
}

fn is_event(span: &TraceSpan, name: &str, handoff: &str) -> bool {
    let is_of_handoff = span.detail.contains(&format!("handoff={handoff} "));
    span.kind == TraceSpanKind::Event && span.name == name && is_of_handoff
}

/// The place of the first span at or after `from` that `is_wanted`.
fn find_after(
    view: &TraceView,
    from: usize,
    what: &str,
    is_wanted: impl Fn(&TraceSpan) -> bool,
) -> usize {
    let later = view.spans.iter().skip(from).position(is_wanted);
    from + later.unwrap_or_else(|| panic!("no {what} after {:?}: {view:#?}", view.spans.get(from)))
}

#[tokio::test]
async fn one_trace_has_the_plan_each_step_and_its_verification_in_their_order() {
    let provider = ScriptedProvider::start();
    provider.when(PLANNING, plan_answer(&["echo hello > greeting", "cat greeting"]));
    provider.when(JUDGING, judgement_answer("pass"));
    let system = system(&provider).await;

    let task = with_prose_criterion(prompt_task("Greet the world"), "it greets");
    let task = done(&system, task).await;

    assert_eq!(task.status.as_str(), "completed", "{task:#?}");
    let view = read_trace(&system, &task.task_name, "analyse").await;
    // Spans are in the order of their start.
    let transitions = view.spans.iter().filter(|span| span.kind == TraceSpanKind::Transition);
    let transitions: Vec<&str> = transitions.map(|span| span.name.as_str()).collect();
    let step = ["dispatch_step", "collect_result", "verify_step_result"];
    let expected =
        [&["load_task_context", "plan_steps"][..], &step, &step, &["finalize_summary"]].concat();
    assert_eq!(transitions, expected);
    let mut place = find_after(&view, 0, "run", |span| span.kind == TraceSpanKind::Run);
    place = find_after(&view, place, "plan", |span| is_event(span, "plan_started", "plan"));
    place = find_after(&view, place, "end of the plan", |span| {
        is_event(span, "plan_finished", "plan") && span.detail.contains("stop=goal_met steps=2")
    });
    for step in 0..2 {
        place = find_after(&view, place, "job", |span| {
            span.kind == TraceSpanKind::Job && span.name == format!("step {step}")
        });
    }
    place = find_after(&view, place, "verification by the manager", |span| {
        is_event(span, "execution_started", "verify") && span.detail.starts_with("project_manager")
    });
    find_after(&view, place, "analyst", |span| {
        is_event(span, "execution_started", "analyse") && span.detail.starts_with("project_analyst")
    });
    // Everything that agents recorded is of the profile of the task.
    let events = view.spans.iter().filter(|span| span.kind == TraceSpanKind::Event);
    for event in events {
        assert!(event.profile_id.is_some(), "{event:?}");
        assert!(event.detail.contains(" profile=default "), "{event:?}");
    }
    let shown = system.cynork(&["trace", "show", "--task", &task.task_name]).expect_success();
    let names = ["plan_finished", "dispatch_step", "step 1", "project_analyst", "finalize_summary"];
    let places: Vec<_> = names.iter().map(|name| shown.stdout.find(name)).collect();
    assert!(places.iter().all(Option::is_some), "{places:?}: {}", shown.stdout);
    assert!(!shown.stdout.contains("Greet the world"), "{}", shown.stdout);
}
