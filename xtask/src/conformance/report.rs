//! Results of the suites: a table for people, and test cases for the guardrails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;

/// Number of scenarios of the released suite; fewer mean that it did not run to its end.
const RELEASED_SCENARIOS: usize = 30;
/// Stands for the scenarios that the released suite did not reach.
const UNFINISHED: &str = "(the suite did not run to its end)";
/// Length of the suffix of a result directory's name, such as `-2026-11-15T03-51-18-239Z`.
const TIMESTAMP: usize = 25;

/// Result of one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SuiteScenario {
    pub(super) suite: &'static str,
    pub(super) name: String,
    /// Whether a failure counts.
    pub(super) scored: bool,
    pub(super) verdict: ScenarioVerdict,
}

impl SuiteScenario {
    /// The scenario as a test case named `sentence`, if it is scored.
    fn case(&self, sentence: &str) -> Option<Case> {
        self.scored.then(|| Case {
            binary: format!("interop::{}::{}", self.suite, self.name),
            name: sentence.to_owned(),
            outcome: if self.verdict.is_passed() { Outcome::Passed } else { Outcome::Failed },
        })
    }

    /// Whether it is scored and has not passed.
    pub(super) fn needs_retry(&self) -> bool {
        self.scored && !self.verdict.is_passed()
    }

    /// The same scenario after a second try with the result `second`.
    pub(super) fn with_second_try(self, second: ScenarioVerdict) -> Self {
        let verdict = if let ScenarioVerdict::Passed(checks) = second {
            ScenarioVerdict::PassedLate(checks, self.verdict.describe())
        } else {
            second
        };
        Self { verdict, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScenarioVerdict {
    /// This many checks passed, at least one, and none failed.
    Passed(usize),
    /// This many checks passed on the second try, and none failed; with the result of the first.
    PassedLate(usize, String),
    /// No check failed, but none passed either: nothing was proven.
    Idle,
    /// The reason of each failed check.
    Failed(Vec<String>),
    /// The suite did not reach it.
    Missing,
}

impl ScenarioVerdict {
    fn is_passed(&self) -> bool {
        matches!(self, Self::Passed(_) | Self::PassedLate(..))
    }

    /// The verdict with its reasons.
    fn describe(&self) -> String {
        match self {
            Self::Failed(reasons) => format!("{} {}", verdict_label(self), reasons.join("; ")),
            Self::PassedLate(_, at_first) => {
                format!("{}, passed on the second try; at first: {at_first}", verdict_label(self))
            }
            Self::Passed(_) | Self::Idle | Self::Missing => verdict_label(self),
        }
    }
}

/// One check of a scenario.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SuiteCheck {
    id: String,
    status: String,
    error_message: Option<String>,
}

/// The scored scenarios of a list of requirements, in its part `server` or `client`.
pub(super) fn parse_scored_scenarios(yaml: &str, part: &str) -> Vec<String> {
    yaml.lines()
        .skip_while(|line| line.strip_suffix(':') != Some(part))
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter_map(|line| line.trim().strip_prefix("- ").map(str::to_owned))
        .collect()
}

/// Reads the results of one run; a scored scenario without a result is missing.
pub(super) fn read_results(
    suite: &'static str,
    directory: &Path,
    scored: Option<&[String]>,
) -> Result<Vec<SuiteScenario>> {
    let mut scenarios = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let file_name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = scenario_name(&file_name) else { continue };
        let checks = read_checks(&entry.path())?;
        let counts = scored.is_none_or(|scored| scored.iter().any(|s| s == name));
        scenarios.push(SuiteScenario {
            suite,
            name: name.to_owned(),
            scored: counts,
            verdict: verdict_of_checks(&checks, &["FAILURE"]),
        });
    }
    let missing = |name: &str| SuiteScenario {
        suite,
        name: name.to_owned(),
        scored: true,
        verdict: ScenarioVerdict::Missing,
    };
    for name in scored.unwrap_or_default() {
        if !scenarios.iter().any(|scenario| scenario.name == *name) {
            scenarios.push(missing(name));
        }
    }
    if scored.is_none() && scenarios.len() < RELEASED_SCENARIOS {
        scenarios.push(missing(UNFINISHED));
    }
    sort_scenarios(&mut scenarios);
    Ok(scenarios)
}

fn sort_scenarios(scenarios: &mut [SuiteScenario]) {
    scenarios.sort_by(|a, b| (!a.scored, &a.name).cmp(&(!b.scored, &b.name)));
}

/// Merges two runs of one suite: a scenario that passed in one of them has passed.
pub(super) fn merge_runs(
    mut first: Vec<SuiteScenario>,
    second: Vec<SuiteScenario>,
) -> Vec<SuiteScenario> {
    let mut all = vec![];
    for scenario in second {
        let at = first.iter().position(|known| known.name == scenario.name);
        match at.map(|at| first.swap_remove(at)) {
            Some(known) if known.needs_retry() => all.push(known.with_second_try(scenario.verdict)),
            Some(known) => all.push(known),
            // The first run got further.
            None if scenario.name == UNFINISHED => {}
            None => {
                let unseen =
                    SuiteScenario { verdict: ScenarioVerdict::Missing, ..scenario.clone() };
                all.push(unseen.with_second_try(scenario.verdict));
            }
        }
    }
    // The second run reached its end.
    all.extend(first.into_iter().filter(|known| known.name != UNFINISHED));
    sort_scenarios(&mut all);
    all
}

fn scenario_name(directory: &str) -> Option<&str> {
    let named = directory.strip_prefix("server-")?;
    named.is_char_boundary(named.len().checked_sub(TIMESTAMP)?).then_some(())?;
    Some(&named[..named.len() - TIMESTAMP])
}

/// Reads the checks of a scenario from its directory.
pub(super) fn read_checks(directory: &Path) -> Result<Vec<SuiteCheck>> {
    let file = directory.join("checks.json");
    let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    serde_json::from_str(&text).context("the checks are not JSON")
}

/// The verdict of the checks; a status in `bad` is a failure.
pub(super) fn verdict_of_checks(checks: &[SuiteCheck], bad: &[&str]) -> ScenarioVerdict {
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| bad.contains(&check.status.as_str()))
        .map(|check| {
            format!("{}: {}", check.id, check.error_message.as_deref().unwrap_or("failed"))
        })
        .collect();
    if failed.is_empty() {
        let passed = checks.iter().filter(|check| check.status == "SUCCESS").count();
        return if passed == 0 { ScenarioVerdict::Idle } else { ScenarioVerdict::Passed(passed) };
    }
    ScenarioVerdict::Failed(failed)
}

/// The scored scenarios as test cases named `sentence`.
pub(super) fn to_test_cases(scenarios: &[SuiteScenario], sentence: &str) -> Vec<Case> {
    scenarios.iter().filter_map(|scenario| scenario.case(sentence)).collect()
}

/// Prints the number of passed scenarios, and every scored one that failed at least once.
pub(super) fn print_brief(out: &mut dyn Write, label: &str, found: &[SuiteScenario]) -> Result<()> {
    for (suite, (passed, all)) in count_passed_by_suite(found) {
        writeln!(out, "{label}: {suite}: {passed} of {all} scored scenarios pass")?;
    }
    for scenario in found.iter().filter(|scenario| scenario.scored) {
        if !matches!(scenario.verdict, ScenarioVerdict::Passed(_)) {
            let (suite, name, words) =
                (scenario.suite, &scenario.name, scenario.verdict.describe());
            writeln!(out, "{label}: {suite}: {name}: {words}")?;
        }
    }
    Ok(())
}

/// Prints every scenario, bare and through the gateway; returns whether every scored one passed.
pub(super) fn print_table(
    out: &mut dyn Write,
    bare: &[SuiteScenario],
    through: Option<&[SuiteScenario]>,
) -> Result<bool> {
    write!(out, "\n{}", render_scenario_table(bare, through))?;
    let all = || bare.iter().chain(through.unwrap_or_default());
    for scenario in all().filter(|scenario| scenario.scored) {
        let words = match &scenario.verdict {
            ScenarioVerdict::Failed(reasons) => reasons.clone(),
            ScenarioVerdict::PassedLate(..) => vec![scenario.verdict.describe()],
            ScenarioVerdict::Passed(_) | ScenarioVerdict::Idle | ScenarioVerdict::Missing => vec![],
        };
        for words in words {
            writeln!(out, "{} {}: {words}", scenario.suite, scenario.name)?;
        }
    }
    Ok(!all().any(SuiteScenario::needs_retry))
}

fn render_scenario_table(bare: &[SuiteScenario], through: Option<&[SuiteScenario]>) -> String {
    let mut text = format!("{:<15} {:<48} {:<9} through\n", "suite", "scenario", "bare");
    let found = |in_list: &[SuiteScenario], wanted: &SuiteScenario| {
        let same = |s: &&SuiteScenario| (s.suite, &s.name) == (wanted.suite, &wanted.name);
        in_list.iter().find(same).map_or("-".to_owned(), |s| verdict_label(&s.verdict))
    };
    let only_through = through.unwrap_or_default().iter().filter(|scenario| {
        !bare.iter().any(|s| (s.suite, &s.name) == (scenario.suite, &scenario.name))
    });
    for scenario in bare.iter().chain(only_through) {
        let mark = if scenario.scored { "" } else { " (not scored)" };
        let name = format!("{}{mark}", scenario.name);
        let through = through.map_or("-".to_owned(), |through| found(through, scenario));
        let _ = writeln!(
            text,
            "{:<15} {name:<48} {:<9} {through}",
            scenario.suite,
            found(bare, scenario)
        );
    }
    for (label, list) in [("bare", Some(bare)), ("through", through)] {
        let Some(list) = list else { continue };
        for (suite, (passed, all)) in count_passed_by_suite(list) {
            let _ = writeln!(text, "{label}: {suite}: {passed} of {all} scored scenarios pass");
        }
    }
    text
}

fn verdict_label(verdict: &ScenarioVerdict) -> String {
    match verdict {
        ScenarioVerdict::Passed(checks) | ScenarioVerdict::PassedLate(checks, _) => {
            format!("pass {checks}")
        }
        ScenarioVerdict::Failed(reasons) => format!("FAIL {}", reasons.len()),
        ScenarioVerdict::Idle => "IDLE".to_owned(),
        ScenarioVerdict::Missing => "MISSING".to_owned(),
    }
}

fn count_passed_by_suite(scenarios: &[SuiteScenario]) -> BTreeMap<&'static str, (usize, usize)> {
    let mut totals: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for scenario in scenarios.iter().filter(|scenario| scenario.scored) {
        let (passed, all) = totals.entry(scenario.suite).or_default();
        *all += 1;
        *passed += usize::from(scenario.verdict.is_passed());
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str, scored: bool, verdict: ScenarioVerdict) -> SuiteScenario {
        SuiteScenario { suite: "s", name: name.to_owned(), scored, verdict }
    }

    #[test]
    fn only_scenarios_of_the_asked_part_of_the_list_count() {
        let yaml = "# head\nserver:\n  - ping\n  - tools-list\n\nclient:\n  - initialize\n";

        assert_eq!(parse_scored_scenarios(yaml, "server"), ["ping", "tools-list"]);
        assert_eq!(parse_scored_scenarios(yaml, "client"), ["initialize"]);
    }

    #[test]
    fn a_scenario_that_counts_and_left_no_result_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let result = directory.path().join("server-ping-2026-11-15T03-51-18-239Z");
        fs::create_dir(&result).unwrap();
        fs::write(result.join("checks.json"), r#"[{"id":"a","status":"SUCCESS"}]"#).unwrap();

        let found = read_results(
            "s",
            directory.path(),
            Some(&["ping".to_owned(), "tools-list".to_owned()]),
        )
        .unwrap();

        assert_eq!(
            found,
            [
                scenario("ping", true, ScenarioVerdict::Passed(1)),
                scenario("tools-list", true, ScenarioVerdict::Missing)
            ]
        );
    }

    #[test]
    fn only_scenarios_that_count_are_test_cases() {
        let found = [
            scenario("ping", true, ScenarioVerdict::Passed(1)),
            scenario("idle", true, ScenarioVerdict::Idle),
            scenario("extra", false, ScenarioVerdict::Failed(vec![])),
        ];

        let cases = to_test_cases(&found, "shown");

        let names: Vec<_> = cases.iter().map(|case| (case.full_name(), case.outcome)).collect();
        assert_eq!(
            names,
            [
                ("interop::s::ping::shown".to_owned(), Outcome::Passed),
                ("interop::s::idle::shown".to_owned(), Outcome::Failed)
            ]
        );
    }

    #[test]
    fn a_second_run_is_heard_about_what_did_not_pass_in_the_first_and_that_is_said() {
        let failed = || ScenarioVerdict::Failed(vec!["late".to_owned()]);
        let first = vec![
            scenario("better", true, failed()),
            scenario("fine", true, ScenarioVerdict::Passed(1)),
            scenario("worse", true, failed()),
            scenario(UNFINISHED, true, ScenarioVerdict::Missing),
        ];
        let second = vec![
            scenario("better", true, ScenarioVerdict::Passed(2)),
            scenario("fine", true, failed()),
            scenario("unseen", true, ScenarioVerdict::Passed(3)),
            scenario("worse", true, failed()),
        ];

        let merged = merge_runs(first, second);

        let late =
            |checks, at_first: &str| ScenarioVerdict::PassedLate(checks, at_first.to_owned());
        let expected = [
            scenario("better", true, late(2, "FAIL 1 late")),
            scenario("fine", true, ScenarioVerdict::Passed(1)),
            scenario("unseen", true, late(3, "MISSING")),
            scenario("worse", true, failed()),
        ];
        assert_eq!(merged, expected);
        let mut out = Vec::new();
        print_brief(&mut out, "through", &merged[..1]).unwrap();
        let output = String::from_utf8(out).unwrap();
        assert!(
            output.contains("pass 2, passed on the second try; at first: FAIL 1 late"),
            "{output}"
        );
    }

    #[test]
    fn a_failure_that_is_not_scored_does_not_fail_the_run() {
        let failed =
            |scored| scenario("a", scored, ScenarioVerdict::Failed(vec!["why".to_owned()]));
        let mut out = Vec::new();

        assert!(print_table(&mut out, &[failed(false)], None).unwrap());
        assert!(!print_table(&mut out, &[failed(false)], Some(&[failed(true)])).unwrap());
        assert!(
            !print_table(&mut out, &[scenario("b", true, ScenarioVerdict::Missing)], None).unwrap()
        );
        assert!(
            !print_table(&mut out, &[scenario("b", true, ScenarioVerdict::Idle)], None).unwrap()
        );
    }
}
