//! The floors of accuracy. The measure halves are read as figures only: rules are tuned on the others.

use cynode_domain::work_kind::{WorkKind, WorkScope};
use cynode_planning::intake::{SubmissionFault, assess_scope, classify, inspect};

use crate::corpus::{Confusion, LabelledFault, LabelledSubmission, load, ratio};

const KINDS: [&str; 3] = ["new_project", "feature_request", "quick_fix"];
const SCOPES: [&str; 4] = ["trivial", "small", "medium", "large"];
const FAULTS: [&str; 4] = ["none", "blank", "question", "several"];

/// The results of kind and scope on one corpus file.
#[derive(Debug, Default)]
struct Figures {
    kinds: Confusion,
    scopes: Confusion,
    certain_kinds: Confusion,
    certain_scopes: Confusion,
    inputs: usize,
    within_one_level: usize,
    certain: [usize; 2],
    errors: Vec<String>,
}

fn measure(name: &str) -> Figures {
    let mut figures = Figures::default();
    for input in load::<LabelledSubmission>(name) {
        let kind = classify(&input.submission());
        // The scope is assessed for the kind that the rules found, as in use.
        let scope = assess_scope(&input.submission(), kind.value, input.project().as_ref());
        figures.inputs += 1;
        figures.kinds.count(input.kind.as_str(), kind.value.as_str());
        figures.scopes.count(input.scope.as_str(), scope.value.as_str());
        figures.within_one_level += usize::from(distance(input.scope, scope.value) <= 1);
        if kind.is_certain {
            figures.certain[0] += 1;
            figures.certain_kinds.count(input.kind.as_str(), kind.value.as_str());
        }
        if scope.is_certain {
            figures.certain[1] += 1;
            figures.certain_scopes.count(input.scope.as_str(), scope.value.as_str());
        }
        if (kind.value, scope.value) != (input.kind, input.scope) {
            figures.errors.push(format!(
                "{} {} != {} {} ({}; {}): {}",
                input.kind,
                input.scope,
                kind.value,
                scope.value,
                kind.reason,
                scope.reason,
                input.text
            ));
        }
    }
    figures
}

fn distance(a: WorkScope, b: WorkScope) -> u8 {
    (a as u8).abs_diff(b as u8)
}

fn render(name: &str, figures: &Figures) -> String {
    let [kinds, scopes] = figures.certain;
    format!(
        "{name}: {} inputs\nkind {:.3}\n{}\nscope {:.3}, within one level {:.3}\n{}\n\
         certain kinds {kinds}, right {:.3}; certain scopes {scopes}, right {:.3}",
        figures.inputs,
        figures.kinds.accuracy(),
        figures.kinds.render(&KINDS),
        figures.scopes.accuracy(),
        ratio(figures.within_one_level, figures.inputs),
        figures.scopes.render(&SCOPES),
        figures.certain_kinds.accuracy(),
        figures.certain_scopes.accuracy(),
    )
}

#[test]
fn kind_and_scope_reach_their_floors_on_inputs_that_no_rule_was_tuned_on() {
    for name in ["measure.jsonl", "late.jsonl"] {
        let figures = measure(name);
        println!("{}", render(name, &figures));

        assert!(figures.kinds.accuracy() >= 0.88, "{name}");
        assert!(figures.scopes.accuracy() >= 0.88, "{name}");
        assert!(ratio(figures.within_one_level, figures.inputs) >= 0.97, "{name}");
    }
}

#[test]
fn certain_rulings_are_right() {
    let figures = measure("tune.jsonl");
    println!("{}\n{}", render("tune.jsonl", &figures), figures.errors.join("\n\n"));

    assert!(figures.certain_kinds.accuracy() >= 0.97);
    assert!(figures.certain_scopes.accuracy() >= 0.97);
    let [kinds, scopes] = figures.certain;
    assert!(kinds >= 250, "certainty that is never given saves no call of a model");
    assert!(scopes >= 150, "certainty that is never given saves no call of a model");
}

fn fault_name(fault: Option<&SubmissionFault>) -> &'static str {
    match fault {
        None => "none",
        Some(SubmissionFault::Blank) => "blank",
        Some(SubmissionFault::TooLong { .. }) => "too_long",
        Some(SubmissionFault::Question) => "question",
        Some(SubmissionFault::SeveralRequests { .. }) => "several",
    }
}

/// Inspects the faults of one half and the submissions of a corpus, which are all single requests; returns the blocked ones.
fn measure_faults(faults: &str, submissions: &[&str]) -> (Confusion, Vec<String>) {
    let mut confusion = Confusion::default();
    for input in load::<LabelledFault>(faults) {
        confusion.count(&input.fault, fault_name(inspect(&input.text).as_ref()));
    }
    let requests = submissions.iter().flat_map(|name| load::<LabelledSubmission>(name));
    let blocked = requests.filter(|input| inspect(&input.text).is_some());
    (confusion, blocked.map(|input| input.text).collect())
}

fn render_faults(name: &str, confusion: &Confusion, blocked: &[String]) -> String {
    let rates = FAULTS.map(|fault| {
        let (precision, recall) = (confusion.precision(fault), confusion.recall(fault));
        format!("{fault}: precision {precision:.3}, recall {recall:.3}")
    });
    let (matrix, rates) = (confusion.render(&FAULTS), rates.join("\n"));
    format!("{name}: {:.3}\n{matrix}\n{rates}\n{} blocked", confusion.accuracy(), blocked.len())
}

#[test]
fn faults_are_found_and_single_requests_are_not_blocked() {
    let (tuned, blocked) = measure_faults("inspect_tune.jsonl", &["tune.jsonl"]);
    println!("{}", render_faults("inspect_tune.jsonl", &tuned, &blocked));
    assert!(blocked.len() <= 2, "{blocked:?}");

    let (confusion, blocked) =
        measure_faults("inspect_measure.jsonl", &["measure.jsonl", "late.jsonl"]);
    println!("{}", render_faults("inspect_measure.jsonl", &confusion, &blocked));

    assert!(blocked.len() <= 2, "{} single requests are blocked", blocked.len());
    for fault in ["blank", "question", "several"] {
        assert!(confusion.precision(fault) >= 0.9, "{fault}");
    }
    assert!(confusion.recall("blank") >= 0.9);
    assert!(confusion.recall("question") >= 0.9);
    assert!(confusion.recall("several") >= 0.7);
}

#[test]
fn a_scope_is_assessed_for_every_kind() {
    let input = load::<LabelledSubmission>("tune.jsonl").remove(0);
    for kind in WorkKind::ALL {
        assert!(!assess_scope(&input.submission(), *kind, None).reason.is_empty());
    }
}
