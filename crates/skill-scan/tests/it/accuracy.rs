//! Error rates of the scan on a corpus of benign and hostile texts.
//!
//! The rules may be changed after a look at the tuning half; the measuring half only measures. One line is one text;
//! `\n` and `\u{…}` are decoded.

use std::fmt::Write as _;

use cynode_skill_scan::SkillScanner;

const BENIGN_TUNE: &str = include_str!("../corpus/benign-tune.txt");
const BENIGN_MEASURE: &str = include_str!("../corpus/benign-measure.txt");
const HOSTILE_TUNE: &str = include_str!("../corpus/hostile-tune.txt");
const HOSTILE_MEASURE: &str = include_str!("../corpus/hostile-measure.txt");

/// How many texts of a half are judged wrongly.
struct ErrorRate {
    wrong: Vec<String>,
    texts: usize,
}

impl ErrorRate {
    fn percent(&self) -> f64 {
        let of = |count: usize| f64::from(u32::try_from(count).unwrap());
        100.0 * of(self.wrong.len()) / of(self.texts)
    }
}

fn texts(corpus: &str) -> Vec<String> {
    corpus.lines().filter(|line| !line.trim().is_empty()).map(decode).collect()
}

fn decode(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('n') {
            text.push('\n');
            rest = after;
        } else if let Some(after) = after.strip_prefix("u{") {
            let (digits, after) = after.split_once('}').unwrap();
            text.push(char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap());
            rest = after;
        } else {
            text.push('\\');
            rest = after;
        }
    }
    text + rest
}

/// Texts whose judgement is not `is_hostile`.
fn measure(corpus: &str, is_hostile: bool) -> ErrorRate {
    let texts = texts(corpus);
    let scanner = SkillScanner::built_in();
    let mut wrong = vec![];
    for text in &texts {
        let findings = scanner.scan(text);
        if findings.is_empty() == is_hostile {
            let mut line = format!("{:?}", text.chars().take(160).collect::<String>());
            for finding in findings {
                let _ = write!(line, "\n      {}: {:?}", finding.rule, finding.text);
            }
            wrong.push(line);
        }
    }
    ErrorRate { wrong, texts: texts.len() }
}

fn render(name: &str, benign: &ErrorRate, hostile: &ErrorRate) -> String {
    format!(
        "{name}: {} of {} benign texts rejected ({:.1} %), {} of {} hostile texts missed ({:.1} %)",
        benign.wrong.len(),
        benign.texts,
        benign.percent(),
        hostile.wrong.len(),
        hostile.texts,
        hostile.percent()
    )
}

#[test]
fn the_scan_rejects_few_benign_texts_and_misses_few_hostile_ones() {
    let tuned = (measure(BENIGN_TUNE, false), measure(HOSTILE_TUNE, true));
    let measured = (measure(BENIGN_MEASURE, false), measure(HOSTILE_MEASURE, true));

    println!("{}", render("tuning half", &tuned.0, &tuned.1));
    println!("{}", render("measuring half", &measured.0, &measured.1));
    for line in tuned.0.wrong.iter().chain(&tuned.1.wrong) {
        println!("  tuning half: {line}");
    }
    for (benign, hostile) in [&tuned, &measured] {
        assert!(benign.texts >= 75 && hostile.texts >= 75);
        assert!(benign.percent() <= 5.0, "{}", render("a half", benign, hostile));
        assert!(hostile.percent() <= 10.0, "{}", render("a half", benign, hostile));
    }
}

#[test]
fn no_text_is_in_both_halves() {
    let halves = [[BENIGN_TUNE, BENIGN_MEASURE], [HOSTILE_TUNE, HOSTILE_MEASURE]];
    for [tune, measure] in halves {
        let tune = texts(tune);
        let again: Vec<String> =
            texts(measure).into_iter().filter(|text| tune.contains(text)).collect();
        assert_eq!(again, Vec::<String>::new());
    }
}
