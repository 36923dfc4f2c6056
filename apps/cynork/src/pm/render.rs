//! Requests as text for people.

use std::fmt::Write as _;

use cynode_domain::estimate::{EstimateRange, UnitEstimate};
use cynode_domain::ids::TaskId;
use cynode_domain::request::Decided;
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::requests::{AttemptView, PendingQuestion, RequestUnitView, RequestView};

use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

pub(super) fn render_submitted(view: &RequestView, _: RenderContext) -> String {
    format!("submitted {0}\nfollow it with `cynork pm watch {0}`", view.name)
}

pub(super) fn render_list(requests: &[RequestView], ctx: RenderContext) -> String {
    if requests.is_empty() {
        return "no open requests; submit one with `cynork pm submit`".to_owned();
    }
    let row = |request: &RequestView| {
        vec![
            request.name.clone(),
            request.owner.clone(),
            request.status.to_string(),
            request.phase.to_string(),
            request.scope.as_ref().map(|scope| scope.value.to_string()).unwrap_or_default(),
            format!("{}%", request.progress_percent),
            relative_time::format_relative(ctx.now, request.created_at),
            table::truncate(request.text.lines().next().unwrap_or_default(), 60),
        ]
    };
    let header = ["NAME", "OWNER", "STATUS", "PHASE", "SCOPE", "DONE", "SINCE", "TEXT"];
    table::render_table(&header, requests.iter().map(row), ctx)
}

/// The row of a waiting request in the inbox.
pub(crate) fn render_waiting_row(request: &RequestView, ctx: RenderContext) -> Vec<String> {
    let asked = request.question.as_ref();
    let since = asked.and_then(|asked| asked.asked_at).unwrap_or(request.updated_at);
    vec![
        request.name.clone(),
        "request".to_owned(),
        table::truncate(asked.map_or("", |asked| asked.question.text.as_str()), 60),
        "the request needs a decision".to_owned(),
        relative_time::format_relative(ctx.now, since),
        format!("cynork pm show {0}; cynork pm answer {0}", request.name),
    ]
}

pub(super) fn render_request(view: &RequestView, _: RenderContext) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "{label:<12}{value}");
    };
    line("request", &view.name);
    line("status", &format!("{} ({})", view.status, view.phase));
    line("text", view.text.lines().next().unwrap_or_default());
    if let Some(kind) = &view.kind {
        line("kind", &decision(kind, ToString::to_string));
    }
    if let Some(kind) = view.project_kind {
        line("project", &format!("{kind}: {}", view.architecture.as_deref().unwrap_or_default()));
    }
    if let Some(scope) = &view.scope {
        line("scope", &decision(scope, ToString::to_string));
    }
    if let Some(workflow) = &view.workflow {
        let units = |units: &Vec<_>| {
            units
                .iter()
                .map(|unit: &cynode_domain::work::UnitKind| unit.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        line("workflow", &decision(workflow, units));
    }
    if !view.test_commands.is_empty() {
        line("tests", &view.test_commands.join("; "));
    }
    if let Some(estimate) = &view.estimate {
        line("estimate", &estimated(estimate.model_calls, estimate.cost_micro_usd));
        for note in &estimate.notes {
            line("", note);
        }
    }
    if let (Some(calls), Some(cost)) = (view.model_calls, view.cost_micro_usd) {
        let cost = u64::try_from(cost).unwrap_or(0);
        line("models", &format!("{calls} calls, {}", dollars(cost)));
    }
    if let Some(delivery) = &view.delivery {
        let how = if delivery.is_pushed { "pushed" } else { "not pushed" };
        line("branch", &format!("{} ({how})", delivery.branch));
        if let Some(address) = &delivery.pull_request {
            line("pull request", address);
        }
    }
    if !view.units.is_empty() {
        text.push_str("\nunits\n");
    }
    for unit in &view.units {
        push_unit(&mut text, view, unit);
    }
    if !view.steps.is_empty() {
        text.push_str("\nsteps\n");
    }
    for step in &view.steps {
        let _ = writeln!(
            text,
            "  {:<24}{}  task {}",
            format!("{} {}", step.unit, step.number),
            step.status,
            step.task_id
        );
    }
    for note in &view.notes {
        let _ = writeln!(text, "\nopen: {note}");
    }
    if let Some(question) = &view.question {
        push_question(&mut text, &view.name, question);
    }
    if let Some(summary) = view.summary.as_ref().filter(|_| view.status != ShownTaskStatus::Waiting)
    {
        let _ = write!(text, "\n{summary}");
    }
    table::sanitize_stream(text.trim_end())
}

/// A unit: its status, who is to work on it, and its attempts.
fn push_unit(text: &mut String, view: &RequestView, unit: &RequestUnitView) {
    let rounds = if unit.revision_count == 0 {
        String::new()
    } else {
        format!(", sent back {}×", unit.revision_count)
    };
    let _ = writeln!(text, "  {:<24}{}{rounds}", unit.id, unit.status);
    let mut planned = view.estimate.iter().flat_map(|estimate| &estimate.units);
    if let Some(planned) = planned.find(|planned| planned.unit == unit.id) {
        let _ = writeln!(text, "    {}", assignment(planned));
    }
    for attempt in &unit.attempts {
        push_attempt(text, attempt);
    }
}

/// Model calls and cost between two bounds.
fn estimated(calls: EstimateRange, cost: Option<EstimateRange>) -> String {
    let calls = format!("{} to {} model calls", calls.low, calls.high);
    match cost {
        Some(cost) => format!("{calls}, {} to {}", dollars(cost.low), dollars(cost.high)),
        None => format!("{calls}, cost unknown"),
    }
}

/// Who is to work on a unit.
fn assignment(planned: &UnitEstimate) -> String {
    let Some(agent) = &planned.agent else {
        return format!("{}: commands of the project", planned.role);
    };
    let specialist = planned.specialist.iter().map(|name| format!(", {name}"));
    let model = planned.model_hint.iter().map(|hint| match &planned.model {
        Some(model) => format!(", {hint} model ({model})"),
        None => format!(", {hint} model"),
    });
    let details: String = specialist.chain(model).collect();
    let estimate = estimated(planned.model_calls, planned.cost_micro_usd);
    format!("{}: {agent}{details}: {estimate}", planned.role)
}

/// Millionths of a dollar as dollars.
fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

fn decision<T>(decided: &Decided<T>, show: impl Fn(&T) -> String) -> String {
    format!("{} ({}: {})", show(&decided.value), decided.by, decided.reason)
}

fn push_attempt(text: &mut String, attempt: &AttemptView) {
    let result =
        attempt.result.as_deref().and_then(|result| result.lines().next()).unwrap_or_default();
    let _ = writeln!(
        text,
        "    attempt {}  {}  {}  task {}",
        attempt.number,
        attempt.status,
        table::truncate(result, 80),
        attempt.task_id
    );
    for (label, said) in [("progress", &attempt.progress), ("checkpoint", &attempt.checkpoint)] {
        if let Some(line) = said.as_deref().and_then(|said| said.lines().next()) {
            let _ = writeln!(text, "      {label:<12}{}", table::truncate(line, 100));
        }
    }
}

/// The question, what it is about, and how to answer it.
pub(super) fn push_question(text: &mut String, name: &str, asked: &PendingQuestion) {
    let _ = writeln!(text, "\n{}", asked.question.text);
    for line in &asked.question.about {
        let _ = writeln!(text, "  {line}");
    }
    let forms = asked.question.accepts.iter().map(|form| match form.as_str() {
        "text" => "--text '…'".to_owned(),
        form => format!("--{form}"),
    });
    let _ =
        writeln!(text, "answer: cynork pm answer {name} {}", forms.collect::<Vec<_>>().join(" | "));
}

/// The child task whose changes are the newest state of the request.
pub(super) fn newest_changes(view: &RequestView) -> Option<TaskId> {
    let is_merged =
        |step: &&AttemptView| step.unit == "integrate" && step.status == ShownTaskStatus::Completed;
    let merged = view.steps.iter().filter(is_merged).map(|step| step.task_id).next_back();
    let is_work = |kind: &str| kind != "review" && kind != "test";
    let attempts = view
        .units
        .iter()
        .filter(|unit| is_work(unit.kind.as_str()))
        .flat_map(|unit| &unit.attempts);
    merged.or_else(|| attempts.map(|attempt| attempt.task_id).max())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(agent: Option<&str>, cost: Option<EstimateRange>) -> UnitEstimate {
        UnitEstimate {
            unit: "impl:main".to_owned(),
            role: "developer".to_owned(),
            agent: agent.map(str::to_owned),
            specialist: Some("rust-fixer".to_owned()),
            model_hint: Some("fast".to_owned()),
            model: Some("far/m".to_owned()),
            model_calls: EstimateRange { low: 4, high: 60 },
            cost_micro_usd: cost,
        }
    }

    #[test]
    fn a_unit_is_planned_with_its_agent_its_model_and_what_it_may_cost() {
        let cost = EstimateRange { low: 18_000, high: 1_620_000 };

        assert_eq!(
            assignment(&unit(Some("sba"), Some(cost))),
            "developer: sba, rust-fixer, fast model (far/m): 4 to 60 model calls, $0.01 to $1.62"
        );
        assert_eq!(
            assignment(&unit(Some("sba"), None)),
            "developer: sba, rust-fixer, fast model (far/m): 4 to 60 model calls, cost unknown"
        );
        assert_eq!(assignment(&unit(None, None)), "developer: commands of the project");
    }
}
