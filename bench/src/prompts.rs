//! How many tokens a model reads for each decision, by what they are for.
//!
//! The figures are estimates: four letters a token, as the composed context counts them. They are for comparing one
//! version with the next; a model's own count is in `cynork brain calls`.

use std::io::Write;

use anyhow::Context as _;
use cynode_agent::brain::decisions::{
    Classify, ContinueRun, HandleFailure, PlanSteps, RefineCriteria,
};
use cynode_agent::brain::{Brain, BrainOptions, Decision, RequestTokens};
use cynode_agent::context::tokens;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::table::{Row, render};

const MANAGER: [&str; 2] = [
    include_str!("../../instructions/project_manager/01_baseline.md"),
    include_str!("../../instructions/project_manager/02_tools.md"),
];
/// What everybody asks first.
const REQUEST: &str = "write the numbers 1 to 10 into a file and print their sum";
/// A small model on two cores reads about 50 tokens a second: a plan should begin within twelve.
const PLAN_TOKENS: f64 = 600.0;

/// Prints the tokens of each decision.
pub fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let mut rows = vec![];
    let manager = Brain::new(None, BrainOptions::default(), MANAGER[0].to_owned());
    let commands = ["seq 1 10 > numbers.txt", "paste -sd+ numbers.txt | bc"];
    let plan =
        json!({ "request": REQUEST, "criteria": [], "expected_outputs": [], "max_commands": 6 });
    add::<PlanSteps>(&mut rows, &manager, plan)?;
    let refine = json!({ "request": REQUEST, "criteria": [], "commands": commands });
    add::<RefineCriteria>(&mut rows, &manager, refine)?;
    add::<Classify>(&mut rows, &manager, json!({ "request": REQUEST, "has_brief": false }))?;
    let failure = json!({
        "role": "developer", "failures": 2, "max_failures": 3, "error": "timeout", "checkpoint": null,
    });
    add::<HandleFailure>(&mut rows, &manager, failure)?;
    let standstill = json!({
        "node": "verify_step_result", "situation": "exit code 1", "attempts": 1,
        "standstill": "rejected", "continued": 0, "may_repeat": false, "if_interrupted": null,
    });
    add::<ContinueRun>(&mut rows, &manager, standstill)?;
    let chat = tokens(MANAGER[0]) + tokens(MANAGER[1]);
    rows.push(Row::number("chat: instructions", figure(chat), "tokens"));
    write!(out, "{}", render(&rows))?;
    Ok(())
}

fn add<D: Decision + DeserializeOwned>(
    rows: &mut Vec<Row>,
    brain: &Brain,
    input: Value,
) -> anyhow::Result<()> {
    let question = serde_json::from_value::<D>(input);
    let question = question.with_context(|| format!("the input of {} has changed", D::PURPOSE))?;
    let RequestTokens { system, question, schema } = brain.tokens_of(&question);
    let name = D::PURPOSE;
    let all = Row::number(format!("{name}: all"), figure(system + question + schema), "tokens");
    rows.push(if name == PlanSteps::PURPOSE { all.under(PLAN_TOKENS) } else { all });
    for (part, count) in [("context", system), ("question", question), ("schema", schema)] {
        rows.push(Row::number(format!("{name}: {part}"), figure(count), "tokens"));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "prompts have far fewer tokens than that")]
fn figure(count: usize) -> f64 {
    count as f64
}
