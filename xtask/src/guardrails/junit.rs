//! The `JUnit` report that nextest writes, as far as it is needed.
//!
//! This reads the tags of a well-formed report and no more; it is not a general XML reader.

use std::fmt::Write as _;

use super::evidence::Outcome;

/// The test cases of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Every case, in the order of the report.
    pub cases: Vec<Case>,
}

/// One test that the run knew of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The test binary, such as `cynode-node::it`.
    pub binary: String,
    /// The test's path in the binary.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
}

impl Case {
    /// The binary and the path, joined.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.binary, self.name)
    }
}

impl Report {
    /// How many cases ended in `outcome`.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }
}

/// Reads a report.
pub fn parse(xml: &str) -> Report {
    let mut report = Report::default();
    for tag in tags(xml) {
        let name = tag.split([' ', '\n', '\t', '/']).next().unwrap_or_default();
        match name {
            "testcase" => report.cases.push(Case {
                binary: attribute(tag, "classname"),
                name: attribute(tag, "name"),
                outcome: Outcome::Passed,
            }),
            "failure" | "error" | "rerunFailure" | "rerunError" => {
                end_last(&mut report, Outcome::Failed);
            }
            "skipped" => end_last(&mut report, Outcome::Skipped),
            _ => {}
        }
    }
    report
}

/// Writes a report that [`parse`] reads.
pub fn write(cases: &[Case]) -> String {
    let mut xml = "<testsuites>\n".to_owned();
    for case in cases {
        let inside = match case.outcome {
            Outcome::Failed => "<failure/>",
            Outcome::Skipped | Outcome::Listed => "<skipped/>",
            Outcome::Passed => "",
        };
        let (name, binary) = (escaped(&case.name), escaped(&case.binary));
        let _ =
            writeln!(xml, "<testcase name=\"{name}\" classname=\"{binary}\">{inside}</testcase>");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn end_last(report: &mut Report, outcome: Outcome) {
    if let Some(case) = report.cases.last_mut() {
        case.outcome = outcome;
    }
}

/// The inside of every tag, without comments, declarations and literal text.
fn tags(xml: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = if rest.starts_with("![CDATA[") {
            "]]>"
        } else if rest.starts_with("!--") {
            "-->"
        } else {
            ">"
        };
        let Some((inside, after)) = rest.split_once(end) else {
            break;
        };
        if end == ">" {
            found.push(inside);
        }
        rest = after;
    }
    found
}

fn attribute(tag: &str, name: &str) -> String {
    let opening = format!(" {name}=\"");
    let value = tag
        .split_once(&opening)
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("", |(value, _)| value);
    value
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0">
  <testsuite name="cynode-x" tests="3" disabled="0" errors="0" failures="1">
    <testcase name="a::tests::holds" classname="cynode-x" timestamp="2026-01-01T00:00:00Z" time="0.01">
    </testcase>
    <testcase name="a::tests::breaks&lt;T&gt;" classname="cynode-x::it" time="0.02">
      <failure message="thread panicked" type="test failure">left &lt; right</failure>
      <system-out><![CDATA[<testcase name="printed" classname="not a test"/>]]></system-out>
    </testcase>
    <testcase name="a::tests::idle" classname="cynode-x" time="0"><skipped/></testcase>
    <testcase name="short" classname="cynode-x" time="0"/>
  </testsuite>
</testsuites>"#;

    #[test]
    fn every_case_of_a_report_is_read_with_its_outcome() {
        let report = parse(XML);

        let read: Vec<(String, Outcome)> =
            report.cases.iter().map(|case| (case.full_name(), case.outcome)).collect();
        assert_eq!(
            read,
            [
                ("cynode-x::a::tests::holds".to_owned(), Outcome::Passed),
                ("cynode-x::it::a::tests::breaks<T>".to_owned(), Outcome::Failed),
                ("cynode-x::a::tests::idle".to_owned(), Outcome::Skipped),
                ("cynode-x::short".to_owned(), Outcome::Passed),
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let case = |name: &str, outcome| Case {
            binary: "interop::\"a\" & <b>".to_owned(),
            name: name.to_owned(),
            outcome,
        };
        let cases = vec![case("holds", Outcome::Passed), case("breaks", Outcome::Failed)];

        assert_eq!(parse(&write(&cases)), Report { cases });
    }

    #[test]
    fn a_broken_report_gives_what_can_be_read() {
        assert_eq!(parse("").cases, []);
        assert_eq!(parse("<testcase name=\"cut").cases, []);
    }
}
