//! What a request does next: a pure function of its snapshot.

use cynode_domain::ids::TaskId;
use cynode_domain::request::{DeliveryMode, MAX_UNIT_FAILURES};
use cynode_domain::status::{RequestPhase, WorkUnitStatus as Status};
use cynode_domain::work::UnitKind;

use crate::snapshot::{
    CONTEXT, INTEGRATE, MERGE, PUSH, REVISE, RequestSnapshot, is_done, is_passed,
};
use crate::steps::sources::is_source_kind;

/// The next action of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// Decide the kind.
    Classify,
    /// Start an attempt at a step that is no unit.
    StartStep(&'static str),
    /// Read the files that the context job listed, and go on to planning.
    ReadContext { child: TaskId },
    /// Decide scope, workflow and components.
    Plan,
    /// Start an attempt at a unit.
    StartUnit { unit: String },
    /// Take note of an ended attempt.
    Conclude { child: TaskId },
    /// Go on to the next phase.
    Enter(RequestPhase),
    /// Open the pull request of the pushed branch, as a draft.
    OpenPullRequest,
    /// Ask people for a review of what was pushed.
    PublishPullRequest,
    /// Read the state, comments and checks of the pull request.
    FollowPullRequest,
    /// End the request as completed.
    Complete,
    /// Ask a person, because no other action is possible.
    AskStuck { reason: String },
    /// Wait for a child task.
    Wait,
    /// Wait until a node has ended the job of a stopped attempt. Nothing wakes the request then.
    AwaitJobEnd,
}

/// Decides the next action.
pub(crate) fn next_action(snapshot: &RequestSnapshot) -> NextAction {
    if let Some(ended) = snapshot.unconcluded() {
        return NextAction::Conclude { child: ended.attempt.child };
    }
    match snapshot.request.phase {
        RequestPhase::Intake => NextAction::Classify,
        RequestPhase::Context => match snapshot.newest_attempt(CONTEXT) {
            Some(newest) if is_done(newest) => {
                NextAction::ReadContext { child: newest.attempt.child }
            }
            Some(_) if snapshot.is_running(CONTEXT) => NextAction::Wait,
            _ => NextAction::StartStep(CONTEXT),
        },
        RequestPhase::Planning => NextAction::Plan,
        RequestPhase::Working if is_revising(snapshot) => {
            if snapshot.is_running(REVISE) {
                NextAction::Wait
            } else if snapshot.stopping.contains(REVISE) {
                NextAction::AwaitJobEnd
            } else {
                NextAction::StartStep(REVISE)
            }
        }
        RequestPhase::Working => next_unit(snapshot),
        RequestPhase::Delivering => next_delivery(snapshot),
        RequestPhase::InReview => NextAction::FollowPullRequest,
        RequestPhase::Ended => NextAction::Wait,
    }
}

/// Whether an agent works on comments of the pull request.
fn is_revising(snapshot: &RequestSnapshot) -> bool {
    !snapshot.request.state.people_review.findings.is_empty()
}

fn next_unit(snapshot: &RequestSnapshot) -> NextAction {
    let Some(board) = &snapshot.board else { return NextAction::Enter(RequestPhase::Planning) };
    if snapshot.request.settings.dry_run {
        return NextAction::Complete;
    }
    if board.is_completed() {
        return NextAction::Enter(RequestPhase::Delivering);
    }
    let limit = usize::try_from(snapshot.request.settings.max_parallel_units).unwrap_or(1);
    let running = snapshot.running_count();
    // The limit of one role does not delay units of other roles.
    let free: Vec<UnitKind> = UnitKind::ALL
        .iter()
        .copied()
        .filter(|kind| {
            let limit = usize::try_from(snapshot.role_limits.limit(*kind)).unwrap_or(1);
            snapshot.running_units(*kind) < limit
        })
        .collect();
    let is_startable = |index: usize| {
        let unit = board.unit(index);
        let may_start = match unit.status {
            // What it builds on may be revised at the same time.
            Status::Assigned | Status::InProgress | Status::RevisionRequested => {
                board.predecessors(index).all(|before| is_passed(board.unit(before).status))
            }
            Status::Pending
            | Status::Submitted
            | Status::Approved
            | Status::Routed
            | Status::Completed
            | Status::Blocked
            | Status::Failed => false,
        };
        may_start
            && free.contains(&unit.kind)
            && !snapshot.is_running(&unit.id)
            && !snapshot.request.state.taken_over.contains_key(&unit.id)
            && failures(snapshot, &unit.id) < MAX_UNIT_FAILURES
    };
    // Its next attempt goes on from the changes that the node is about to collect.
    let is_stopping = |index: usize| {
        let unit = board.unit(index);
        is_source_kind(unit.kind) && snapshot.stopping.contains(&unit.id)
    };
    let startable: Vec<usize> =
        (0..board.units().len()).filter(|index| is_startable(*index)).collect();
    let next = startable.iter().copied().find(|index| !is_stopping(*index));
    match next {
        Some(index) if running < limit => {
            NextAction::StartUnit { unit: board.unit(index).id.clone() }
        }
        None if !startable.is_empty() && running < limit => NextAction::AwaitJobEnd,
        _ if running > 0 || !snapshot.request.state.taken_over.is_empty() => NextAction::Wait,
        _ => {
            let open: Vec<_> = board
                .units()
                .iter()
                .filter(|unit| unit.status != Status::Completed)
                .map(|unit| format!("{} is {}", unit.id, unit.status))
                .collect();
            NextAction::AskStuck { reason: open.join(", ") }
        }
    }
}

/// How often the agent of a unit failed in a row.
pub(crate) fn failures(snapshot: &RequestSnapshot, unit: &str) -> u32 {
    snapshot.request.state.unit_failures.get(unit).copied().unwrap_or(0)
}

fn next_delivery(snapshot: &RequestSnapshot) -> NextAction {
    let newest = |unit| snapshot.newest_attempt(unit);
    if [INTEGRATE, MERGE, PUSH].iter().any(|unit| snapshot.is_running(unit)) {
        return NextAction::Wait;
    }
    // A further round merges and tests what its agent changed.
    let revised = snapshot.accepted_attempt(REVISE).map(|revised| revised.attempt.sequence);
    let integrated = newest(INTEGRATE)
        .filter(|newest| revised.is_none_or(|before| newest.attempt.sequence > before));
    let Some(integrated) = integrated else { return NextAction::StartStep(INTEGRATE) };
    if !is_done(integrated) {
        let has_conflict = integrated
            .attempt
            .outcome
            .as_ref()
            .is_some_and(|outcome| outcome["result"] == "conflict");
        let is_fixed = snapshot.request.state.fix.feedback.is_some();
        let merged =
            newest(MERGE).filter(|merge| merge.attempt.sequence > integrated.attempt.sequence);
        return match merged {
            Some(merge) if is_done(merge) => NextAction::StartStep(INTEGRATE),
            _ => NextAction::StartStep(if has_conflict || is_fixed { MERGE } else { INTEGRATE }),
        };
    }
    if snapshot.request.settings.deliver == DeliveryMode::Patch || has_no_changes(snapshot) {
        return NextAction::Complete;
    }
    match newest(PUSH).filter(|push| push.attempt.sequence > integrated.attempt.sequence) {
        Some(push) if is_done(push) => next_pull_request(snapshot),
        _ => NextAction::StartStep(PUSH),
    }
}

/// What follows a push.
fn next_pull_request(snapshot: &RequestSnapshot) -> NextAction {
    let delivery = snapshot.request.state.delivery.as_ref();
    let number = delivery.and_then(|delivery| delivery.pull_request_number);
    match (snapshot.request.settings.deliver, number) {
        (DeliveryMode::PullRequest, None) => NextAction::OpenPullRequest,
        (DeliveryMode::PullRequest, Some(_)) => NextAction::PublishPullRequest,
        (DeliveryMode::Patch | DeliveryMode::Branch, _) => NextAction::Complete,
    }
}

/// Whether the merged result equals the repository.
fn has_no_changes(snapshot: &RequestSnapshot) -> bool {
    snapshot.request.state.delivery.as_ref().is_some_and(|delivery| delivery.head.is_none())
}
