//! What the suites found: as a table for people, and as test cases for the guardrails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;

/// The released suite's scenarios; fewer mean that it did not run to its end.
const RELEASED_SCENARIOS: usize = 30;
/// What stands for the scenarios that the released suite did not get to.
const UNFINISHED: &str = "(the suite did not run to its end)";
/// The end of a result directory's name, such as `-2026-11-15T03-51-18-239Z`.
const TIMESTAMP: usize = 25;

/// What one scenario came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) suite: &'static str,
    pub(super) name: String,
    /// Whether a failure counts.
    pub(super) scored: bool,
    pub(super) verdict: Verdict,
}

impl Scenario {
    /// The scenario as a test case, if it counts. `sentence` says what its passing shows.
    fn case(&self, sentence: &str) -> Option<Case> {
        self.scored.then(|| Case {
            binary: format!("interop::{}::{}", self.suite, self.name),
            name: sentence.to_owned(),
            outcome: if self.verdict.is_passed() { Outcome::Passed } else { Outcome::Failed },
        })
    }

    /// Whether it counts and has not passed.
    pub(super) fn is_to_be_tried_again(&self) -> bool {
        self.scored && !self.verdict.is_passed()
    }

    /// The same scenario after a second try, which came to `second`.
    pub(super) fn again(self, second: Verdict) -> Self {
        let verdict = if let Verdict::Passed(checks) = second {
            Verdict::PassedLate(checks, self.verdict.in_words())
        } else {
            second
        };
        Self { verdict, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// So many checks passed, at least one, and none failed.
    Passed(usize),
    /// So many checks passed on the second try, and none failed; what the first came to.
    PassedLate(usize, String),
    /// No check failed, but none passed either: nothing was shown.
    Idle,
    /// What was wrong, one sentence for each failed check.
    Failed(Vec<String>),
    /// The suite did not get to it.
    Missing,
}

impl Verdict {
    fn is_passed(&self) -> bool {
        matches!(self, Self::Passed(_) | Self::PassedLate(..))
    }

    /// In a word and with what was wrong.
    fn in_words(&self) -> String {
        match self {
            Self::Failed(reasons) => format!("{} {}", word(self), reasons.join("; ")),
            Self::PassedLate(_, at_first) => {
                format!("{}, passed on the second try; at first: {at_first}", word(self))
            }
            Self::Passed(_) | Self::Idle | Self::Missing => word(self),
        }
    }
}

/// One thing that a scenario looked at.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

/// The scenarios that count, from a list of requirements: those of its part `server` or `client`.
pub(super) fn scored(yaml: &str, part: &str) -> Vec<String> {
    yaml.lines()
        .skip_while(|line| line.strip_suffix(':') != Some(part))
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter_map(|line| line.trim().strip_prefix("- ").map(str::to_owned))
        .collect()
}

/// Reads the results of one run; what counts and left no result is missing.
pub(super) fn read(
    suite: &'static str,
    directory: &Path,
    scored: Option<&[String]>,
) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let file_name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = scenario_name(&file_name) else { continue };
        let checks = read_checks(&entry.path())?;
        let counts = scored.is_none_or(|scored| scored.iter().any(|s| s == name));
        scenarios.push(Scenario {
            suite,
            name: name.to_owned(),
            scored: counts,
            verdict: judge(&checks, &["FAILURE"]),
        });
    }
    let missing = |name: &str| Scenario {
        suite,
        name: name.to_owned(),
        scored: true,
        verdict: Verdict::Missing,
    };
    for name in scored.unwrap_or_default() {
        if !scenarios.iter().any(|scenario| scenario.name == *name) {
            scenarios.push(missing(name));
        }
    }
    if scored.is_none() && scenarios.len() < RELEASED_SCENARIOS {
        scenarios.push(missing(UNFINISHED));
    }
    sort(&mut scenarios);
    Ok(scenarios)
}

fn sort(scenarios: &mut [Scenario]) {
    scenarios.sort_by(|a, b| (!a.scored, &a.name).cmp(&(!b.scored, &b.name)));
}

/// What two runs of one suite came to: what passed in one of them has passed.
pub(super) fn merged(mut first: Vec<Scenario>, second: Vec<Scenario>) -> Vec<Scenario> {
    let mut all = vec![];
    for scenario in second {
        let at = first.iter().position(|known| known.name == scenario.name);
        match at.map(|at| first.swap_remove(at)) {
            Some(known) if known.is_to_be_tried_again() => all.push(known.again(scenario.verdict)),
            Some(known) => all.push(known),
            // The first run got further.
            None if scenario.name == UNFINISHED => {}
            None => {
                let unseen = Scenario { verdict: Verdict::Missing, ..scenario.clone() };
                all.push(unseen.again(scenario.verdict));
            }
        }
    }
    // The second run got to its end.
    all.extend(first.into_iter().filter(|known| known.name != UNFINISHED));
    sort(&mut all);
    all
}

fn scenario_name(directory: &str) -> Option<&str> {
    let named = directory.strip_prefix("server-")?;
    named.is_char_boundary(named.len().checked_sub(TIMESTAMP)?).then_some(())?;
    Some(&named[..named.len() - TIMESTAMP])
}

/// The checks that a scenario left in its directory.
pub(super) fn read_checks(directory: &Path) -> Result<Vec<Check>> {
    let file = directory.join("checks.json");
    let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    serde_json::from_str(&text).context("the checks are not JSON")
}

/// What the checks come to, when those of a status in `bad` are failures.
pub(super) fn judge(checks: &[Check], bad: &[&str]) -> Verdict {
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| bad.contains(&check.status.as_str()))
        .map(|check| {
            format!("{}: {}", check.id, check.error_message.as_deref().unwrap_or("failed"))
        })
        .collect();
    if failed.is_empty() {
        let passed = checks.iter().filter(|check| check.status == "SUCCESS").count();
        return if passed == 0 { Verdict::Idle } else { Verdict::Passed(passed) };
    }
    Verdict::Failed(failed)
}

/// The scenarios that count, as test cases whose passing shows what `sentence` says.
pub(super) fn cases(scenarios: &[Scenario], sentence: &str) -> Vec<Case> {
    scenarios.iter().filter_map(|scenario| scenario.case(sentence)).collect()
}

/// Prints what was wrong with every scenario that counts, if only at first, and how many passed.
pub(super) fn print_brief(out: &mut dyn Write, label: &str, found: &[Scenario]) -> Result<()> {
    for (suite, (passed, all)) in totals(found) {
        writeln!(out, "{label}: {suite}: {passed} of {all} scored scenarios pass")?;
    }
    for scenario in found.iter().filter(|scenario| scenario.scored) {
        if !matches!(scenario.verdict, Verdict::Passed(_)) {
            let (suite, name, words) =
                (scenario.suite, &scenario.name, scenario.verdict.in_words());
            writeln!(out, "{label}: {suite}: {name}: {words}")?;
        }
    }
    Ok(())
}

/// Prints every scenario, bare and through; whether everything that counts passed.
pub(super) fn print(
    out: &mut dyn Write,
    bare: &[Scenario],
    through: Option<&[Scenario]>,
) -> Result<bool> {
    write!(out, "\n{}", table(bare, through))?;
    let all = || bare.iter().chain(through.unwrap_or_default());
    for scenario in all().filter(|scenario| scenario.scored) {
        let words = match &scenario.verdict {
            Verdict::Failed(reasons) => reasons.clone(),
            Verdict::PassedLate(..) => vec![scenario.verdict.in_words()],
            Verdict::Passed(_) | Verdict::Idle | Verdict::Missing => vec![],
        };
        for words in words {
            writeln!(out, "{} {}: {words}", scenario.suite, scenario.name)?;
        }
    }
    Ok(!all().any(Scenario::is_to_be_tried_again))
}

fn table(bare: &[Scenario], through: Option<&[Scenario]>) -> String {
    let mut text = format!("{:<15} {:<48} {:<9} through\n", "suite", "scenario", "bare");
    let found = |in_list: &[Scenario], wanted: &Scenario| {
        let same = |s: &&Scenario| (s.suite, &s.name) == (wanted.suite, &wanted.name);
        in_list.iter().find(same).map_or("-".to_owned(), |s| word(&s.verdict))
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
        for (suite, (passed, all)) in totals(list) {
            let _ = writeln!(text, "{label}: {suite}: {passed} of {all} scored scenarios pass");
        }
    }
    text
}

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Passed(checks) | Verdict::PassedLate(checks, _) => format!("pass {checks}"),
        Verdict::Failed(reasons) => format!("FAIL {}", reasons.len()),
        Verdict::Idle => "IDLE".to_owned(),
        Verdict::Missing => "MISSING".to_owned(),
    }
}

fn totals(scenarios: &[Scenario]) -> BTreeMap<&'static str, (usize, usize)> {
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

    fn scenario(name: &str, scored: bool, verdict: Verdict) -> Scenario {
        Scenario { suite: "s", name: name.to_owned(), scored, verdict }
    }

    #[test]
    fn only_scenarios_of_the_asked_part_of_the_list_count() {
        let yaml = "# head\nserver:\n  - ping\n  - tools-list\n\nclient:\n  - initialize\n";

        assert_eq!(scored(yaml, "server"), ["ping", "tools-list"]);
        assert_eq!(scored(yaml, "client"), ["initialize"]);
    }

    #[test]
    fn a_scenario_that_counts_and_left_no_result_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let result = directory.path().join("server-ping-2026-11-15T03-51-18-239Z");
        fs::create_dir(&result).unwrap();
        fs::write(result.join("checks.json"), r#"[{"id":"a","status":"SUCCESS"}]"#).unwrap();

        let found =
            read("s", directory.path(), Some(&["ping".to_owned(), "tools-list".to_owned()]))
                .unwrap();

        assert_eq!(
            found,
            [
                scenario("ping", true, Verdict::Passed(1)),
                scenario("tools-list", true, Verdict::Missing)
            ]
        );
    }

    #[test]
    fn only_scenarios_that_count_are_test_cases() {
        let found = [
            scenario("ping", true, Verdict::Passed(1)),
            scenario("idle", true, Verdict::Idle),
            scenario("extra", false, Verdict::Failed(vec![])),
        ];

        let cases = cases(&found, "shown");

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
        let failed = || Verdict::Failed(vec!["late".to_owned()]);
        let first = vec![
            scenario("better", true, failed()),
            scenario("fine", true, Verdict::Passed(1)),
            scenario("worse", true, failed()),
            scenario(UNFINISHED, true, Verdict::Missing),
        ];
        let second = vec![
            scenario("better", true, Verdict::Passed(2)),
            scenario("fine", true, failed()),
            scenario("unseen", true, Verdict::Passed(3)),
            scenario("worse", true, failed()),
        ];

        let merged = merged(first, second);

        let late = |checks, at_first: &str| Verdict::PassedLate(checks, at_first.to_owned());
        let expected = [
            scenario("better", true, late(2, "FAIL 1 late")),
            scenario("fine", true, Verdict::Passed(1)),
            scenario("unseen", true, late(3, "MISSING")),
            scenario("worse", true, failed()),
        ];
        assert_eq!(merged, expected);
        let mut out = Vec::new();
        print_brief(&mut out, "through", &merged[..1]).unwrap();
        let said = String::from_utf8(out).unwrap();
        assert!(said.contains("pass 2, passed on the second try; at first: FAIL 1 late"), "{said}");
    }

    #[test]
    fn a_failure_that_is_not_scored_does_not_fail_the_run() {
        let failed = |scored| scenario("a", scored, Verdict::Failed(vec!["why".to_owned()]));
        let mut out = Vec::new();

        assert!(print(&mut out, &[failed(false)], None).unwrap());
        assert!(!print(&mut out, &[failed(false)], Some(&[failed(true)])).unwrap());
        assert!(!print(&mut out, &[scenario("b", true, Verdict::Missing)], None).unwrap());
        assert!(!print(&mut out, &[scenario("b", true, Verdict::Idle)], None).unwrap());
    }
}
