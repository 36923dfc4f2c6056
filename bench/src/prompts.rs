//! Prompt tokens of each decision, by part. The figures are estimates: four characters per token,
//! as in the composed context. They are for comparing versions; `cynork brain calls` has the
//! model's own count.

use std::io::Write;

use anyhow::Context as _;
use cynode_agent::brain::decisions::{
    ClassifyRequest, ContinueBlockedRun, HandleFailure, PlanRequestSteps, RefineCriteria,
};
use cynode_agent::brain::{Brain, BrainDecision, BrainOptions, RequestTokens};
use cynode_agent::context::estimate_tokens;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::table::{FigureRow, render_rows};

const MANAGER: [&str; 2] = [
    include_str!("../../instructions/project_manager/01_baseline.md"),
    include_str!("../../instructions/project_manager/02_tools.md"),
];
/// A typical first request.
const REQUEST: &str = "write the numbers 1 to 10 into a file and print their sum";
/// A small model on two cores reads about 50 tokens a second: a plan starts within twelve seconds.
const PLAN_TOKENS: f64 = 600.0;

/// Prints the tokens of each decision.
pub fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let mut rows = vec![];
    let manager = Brain::new(None, BrainOptions::default(), MANAGER[0].to_owned());
    let commands = ["seq 1 10 > numbers.txt", "paste -sd+ numbers.txt | bc"];
    let plan =
        json!({ "request": REQUEST, "criteria": [], "expected_outputs": [], "max_commands": 6 });
    add_decision_rows::<PlanRequestSteps>(&mut rows, &manager, plan)?;
    let refine = json!({ "request": REQUEST, "criteria": [], "commands": commands });
    add_decision_rows::<RefineCriteria>(&mut rows, &manager, refine)?;
    add_decision_rows::<ClassifyRequest>(
        &mut rows,
        &manager,
        json!({ "request": REQUEST, "has_brief": false }),
    )?;
    let failure = json!({
        "role": "developer", "failures": 2, "max_failures": 3, "error": "timeout", "checkpoint": null,
    });
    add_decision_rows::<HandleFailure>(&mut rows, &manager, failure)?;
    let standstill = json!({
        "node": "verify_step_result", "situation": "exit code 1", "attempts": 1,
        "standstill": "rejected", "continued": 0, "may_repeat": false, "if_interrupted": null,
    });
    add_decision_rows::<ContinueBlockedRun>(&mut rows, &manager, standstill)?;
    let chat = estimate_tokens(MANAGER[0]) + estimate_tokens(MANAGER[1]);
    rows.push(FigureRow::from_value("chat: instructions", count_as_f64(chat), "tokens"));
    write!(out, "{}", render_rows(&rows))?;
    Ok(())
}

fn add_decision_rows<D: BrainDecision + DeserializeOwned>(
    rows: &mut Vec<FigureRow>,
    brain: &Brain,
    input: Value,
) -> anyhow::Result<()> {
    let question = serde_json::from_value::<D>(input);
    let question = question.with_context(|| format!("the input of {} has changed", D::PURPOSE))?;
    let RequestTokens { system, question, schema } = brain.estimate_request_tokens(&question);
    let name = D::PURPOSE;
    let all = FigureRow::from_value(
        format!("{name}: all"),
        count_as_f64(system + question + schema),
        "tokens",
    );
    rows.push(if name == PlanRequestSteps::PURPOSE { all.with_goal(PLAN_TOKENS) } else { all });
    for (part, count) in [("context", system), ("question", question), ("schema", schema)] {
        rows.push(FigureRow::from_value(format!("{name}: {part}"), count_as_f64(count), "tokens"));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "prompts have far fewer tokens than that")]
fn count_as_f64(count: usize) -> f64 {
    count as f64
}
