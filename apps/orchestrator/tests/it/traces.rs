//! Traces: one request as a tree of rows.

use cynode_domain::ids::{JobId, TraceId};
use cynode_domain::status::RunStatus;
use cynode_wire::runs::RetryRun;
use cynode_wire::traces::{TraceListQuery, TraceQuery, TraceSpan, TraceSpanKind, TraceSpanStatus};

use crate::harness::{OrchestratorHarness, refused};
use crate::runs::{fail, through_a_step};

fn of_kind(spans: &[TraceSpan], kind: TraceSpanKind) -> Vec<&TraceSpan> {
    spans.iter().filter(|span| span.kind == kind).collect()
}

pub(crate) async fn a_trace_shows_task_run_and_transitions_and_marks_what_failed(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    let trace = admin.run_get(&task.task_name).await.unwrap().run.trace_id;
    let open = admin.trace_get(trace, &TraceQuery::default()).await.unwrap();
    fail(&runner, lease).await;

    let view = admin.trace_get(trace, &TraceQuery::default()).await.unwrap();

    assert!(open.is_open && !view.is_open);
    assert_eq!(of_kind(&open.spans, TraceSpanKind::Run)[0].status, TraceSpanStatus::Open);
    assert_eq!(of_kind(&open.spans, TraceSpanKind::Run)[0].duration_ms, None);
    let [task_span] = of_kind(&view.spans, TraceSpanKind::Task)[..] else { panic!("{view:?}") };
    let [run_span] = of_kind(&view.spans, TraceSpanKind::Run)[..] else { panic!("{view:?}") };
    assert_eq!(
        (task_span.name.as_str(), task_span.status),
        (task.task_name.as_str(), TraceSpanStatus::Error)
    );
    assert_eq!(run_span.parent_id.as_ref(), Some(&task_span.id));
    assert!(run_span.duration_ms.is_some());
    let transitions = of_kind(&view.spans, TraceSpanKind::Transition);
    let mut names: Vec<_> =
        transitions.iter().map(|span| (span.detail.as_str(), span.name.as_str())).collect();
    names.sort_unstable();
    assert_eq!(names.len(), 6);
    assert_eq!(names[5], ("#6, edge finished", "mark_failed"));
    assert!(transitions.iter().all(|span| span.parent_id.as_ref() == Some(&run_span.id)));
    assert!(view.omitted.is_empty(), "{view:?}");
    let window = admin.trace_get(trace, &TraceQuery { limit: Some(2) }).await.unwrap();
    assert_eq!(of_kind(&window.spans, TraceSpanKind::Transition).len(), 2);
    let omitted: Vec<_> = window.omitted.iter().map(|it| (it.kind, it.shown, it.total)).collect();
    assert_eq!(omitted, [(TraceSpanKind::Transition, 2, 6)]);
    refused(admin.trace_get(trace, &TraceQuery { limit: Some(2_001) }).await, 400);
}

pub(crate) async fn a_retry_continues_the_trace_of_its_task(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;
    let trace = admin.run_get(&task.task_name).await.unwrap().run.trace_id;
    let failed = TraceListQuery { status: Some(RunStatus::Failed), ..TraceListQuery::default() };
    assert_eq!(admin.trace_list(&failed).await.unwrap().items[0].trace_id, trace);

    let retried = admin.run_retry(&task.task_name, &RetryRun::default()).await.unwrap();

    assert_eq!(retried.run.trace_id, trace);
    let view = admin.trace_get(trace, &TraceQuery::default()).await.unwrap();
    assert_eq!(of_kind(&view.spans, TraceSpanKind::Run).len(), 2);
    let list = admin.trace_list(&TraceListQuery::default()).await.unwrap().items;
    assert_eq!(
        list.iter().map(|it| (it.trace_id, it.run_id)).collect::<Vec<_>>(),
        [(trace, retried.run.id)]
    );
    assert!(admin.trace_list(&failed).await.unwrap().items.is_empty());
}

pub(crate) async fn traces_of_others_are_not_found(harness: OrchestratorHarness) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let task = harness.task().await;
    let trace = admin.run_get(&task.task_name).await.unwrap().run.trace_id;
    admin.trace_get(trace, &TraceQuery::default()).await.unwrap();

    let foreign = refused(bob.trace_get(trace, &TraceQuery::default()).await, 404);
    let unknown = TraceId::generate();
    let missing = refused(bob.trace_get(unknown, &TraceQuery::default()).await, 404);

    assert_eq!(
        foreign.detail.replace(&trace.to_string(), ""),
        missing.detail.replace(&unknown.to_string(), "")
    );
    assert!(bob.trace_list(&TraceListQuery::default()).await.unwrap().items.is_empty());
}
