//! How often the right tool is among the best five, next to plain BM25 over names and descriptions.
//!
//! The measuring half was written without knowledge of the ranking and is not read by those who change it: the test
//! prints its percentage only. The tuning half is known to them.

use std::collections::{BTreeMap, BTreeSet};

use cynode_domain::policy::{Principal, allowlist};
use cynode_roles::tool_ranking::ToolRanking;
use serde_json::Value;

/// The catalogue of the gateway. A test of the gateway compares the file with the tools.
const CATALOGUE: &str = include_str!("../../../../docs/reference/tool-schemas.json");
const TUNING: &str = include_str!("../corpus/goals-tuning.tsv");
const MEASURING: &str = include_str!("../corpus/goals-measuring.tsv");
const BEST: usize = 5;
/// How many of 1000 goals must have their right tool among the best.
const GOAL_PERMILLE: usize = 950;
/// Parts of BM25 as in the literature.
const K1: f64 = 1.2;
const B: f64 = 0.75;

struct KnownGoal {
    goal: &'static str,
    tools: BTreeSet<&'static str>,
}

fn goals(corpus: &'static str) -> Vec<KnownGoal> {
    let lines = corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let parse = |line: &'static str| {
        let (goal, tools) = line.split_once('\t').unwrap_or_else(|| panic!("{line}"));
        KnownGoal { goal, tools: tools.split(',').collect() }
    };
    lines.map(parse).collect()
}

/// The tools that the agents of a goal may call: those of the project manager, or of agents in a sandbox.
fn permitted(known: &KnownGoal, tools: &[CatalogueTool]) -> Vec<CatalogueTool> {
    let is_for = |agent| known.tools.iter().any(|name| allowlist::is_allowlisted(agent, name));
    let agent = if is_for(Principal::PM) { Principal::PM } else { Principal::SANDBOX };
    tools.iter().filter(|(name, _)| allowlist::is_allowlisted(agent, name)).cloned().collect()
}

/// Name and description of a tool.
type CatalogueTool = (String, String);

fn catalogue() -> Vec<CatalogueTool> {
    let tools: BTreeMap<String, Value> = serde_json::from_str(CATALOGUE).unwrap();
    let text = |(name, tool): (String, Value)| {
        let about = tool["description"].as_str().unwrap_or_else(|| panic!("{name}")).to_owned();
        (name, about)
    };
    tools.into_iter().map(text).collect()
}

/// The names of the best tools by BM25 over words as they are written.
fn rank_by_bm25(goal: &str, tools: &[CatalogueTool]) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let texts: Vec<Vec<String>> =
        tools.iter().map(|(name, about)| words(&format!("{name} {about}"))).collect();
    let as_f64 = |count: usize| f64::from(u32::try_from(count).unwrap());
    let mean = as_f64(texts.iter().map(Vec::len).sum()) / as_f64(texts.len());
    let score = |text: &Vec<String>| -> f64 {
        let of_word = |word: &String| {
            let count = as_f64(text.iter().filter(|it| *it == word).count());
            let having = as_f64(texts.iter().filter(|it| it.contains(word)).count());
            let rarity = (1.0 + (as_f64(texts.len()) - having + 0.5) / (having + 0.5)).ln();
            let norm = K1 * (1.0 - B + B * as_f64(text.len()) / mean);
            rarity * count * (K1 + 1.0) / (count + norm)
        };
        words(goal).iter().map(of_word).sum()
    };
    let mut scored: Vec<(usize, f64)> =
        texts.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.into_iter().take(BEST).map(|(index, _)| tools[index].0.clone()).collect()
}

fn rank_by_ours(goal: &str, tools: &[CatalogueTool]) -> Vec<String> {
    let ranking =
        ToolRanking::new(tools.iter().map(|(name, about)| (name.as_str(), about.as_str())));
    ranking.rank(goal).into_iter().take(BEST).map(|tool| tools[tool.index].0.clone()).collect()
}

/// The goals whose right tool is not among the best, with the best, and how many of 1000 goals are not such.
fn measure<'g>(
    goals: &'g [KnownGoal],
    tools: &[CatalogueTool],
    rank: fn(&str, &[CatalogueTool]) -> Vec<String>,
) -> (Vec<(&'g KnownGoal, Vec<String>)>, usize) {
    let ranked = goals.iter().map(|known| (known, rank(known.goal, &permitted(known, tools))));
    let missed: Vec<_> = ranked
        .filter(|(known, best)| !best.iter().any(|name| known.tools.contains(name.as_str())))
        .collect();
    let hits = goals.len() - missed.len();
    (missed, hits * 1000 / goals.len())
}

#[test]
fn the_right_tool_is_among_the_best_five_for_95_of_100_goals() {
    let tools = catalogue();
    let names: BTreeSet<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
    let (tuning, measuring) = (goals(TUNING), goals(MEASURING));
    for (half, goals) in [("tuning", &tuning), ("measuring", &measuring)] {
        let unknown = goals.iter().filter(|known| !known.tools.is_subset(&names)).count();
        assert_eq!(unknown, 0, "goals of the {half} half whose tools are not in the catalogue");
    }
    assert!(measuring.len() >= 50 && tuning.len() + measuring.len() >= 80);

    let mut permille = vec![];
    for (half, goals) in [("tuning", &tuning), ("measuring", &measuring)] {
        let (missed, ours) = measure(goals, &tools, rank_by_ours);
        let (_, bm25) = measure(goals, &tools, rank_by_bm25);
        println!(
            "{half}: {} goals, {} tools; hit@{BEST} ours {}.{} %, BM25 {}.{} %",
            goals.len(),
            tools.len(),
            ours / 10,
            ours % 10,
            bm25 / 10,
            bm25 % 10
        );
        if half == "tuning" {
            for (known, best) in missed {
                println!("  missed: {} {:?}: {best:?}", known.goal, known.tools);
            }
        }
        permille.push((half, ours, bm25));
    }
    for (half, ours, bm25) in permille {
        assert!(ours >= GOAL_PERMILLE, "{half}: {ours} of 1000, the goal is {GOAL_PERMILLE}");
        assert!(ours > bm25, "{half}: BM25 has {bm25} of 1000");
    }
}

#[test]
fn tools_of_installed_servers_are_found_among_the_built_in_ones() {
    let installed = [
        ("github.create_issue", "Opens a new issue in a GitHub repository."),
        ("github.list_pull_requests", "Lists the pull requests of a repository."),
        ("slack.post_message", "Posts a message to a Slack channel."),
        (
            "calendar.add_event",
            "Adds an event to the calendar of a person, with guests and a place.",
        ),
        ("weather.forecast", "Tells the weather of a city for the next days."),
        ("postgres.query", "Runs a read-only SQL query and returns its rows."),
        ("mail.send", "Sends an email to one or more recipients."),
        ("translate.text", "Translates a text into another language."),
    ];
    let mut tools = catalogue();
    tools.extend(installed.map(|(name, about)| (name.to_owned(), about.to_owned())));
    for (goal, name) in [
        ("Open an issue on GitHub about the broken link", "github.create_issue"),
        ("Which pull requests are open?", "github.list_pull_requests"),
        ("Post in the Slack channel that we are done", "slack.post_message"),
        ("Add lunch with Ann to my calendar, as an event with guests", "calendar.add_event"),
        ("What will the weather be like in Rome?", "weather.forecast"),
        ("Query the Postgres database with SQL for the newest rows", "postgres.query"),
        ("Send an email to both recipients", "mail.send"),
        ("Translate this text into another language, French", "translate.text"),
    ] {
        let best = rank_by_ours(goal, &tools);
        assert!(best.iter().any(|it| it == name), "{goal}: {best:?}");
    }
}
