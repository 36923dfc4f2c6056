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
        figures.kinds.count(input.kind, kind.value);
        figures.scopes.count(input.scope, scope.value);
        figures.within_one_level += usize::from(distance(input.scope, scope.value) <= 1);
        if kind.is_certain {
            figures.certain[0] += 1;
            figures.certain_kinds.count(input.kind, kind.value);
        }
        if scope.is_certain {
            figures.certain[1] += 1;
            figures.certain_scopes.count(input.scope, scope.value);
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

fn print(name: &str, figures: &Figures) {
    println!("{name}: {} inputs", figures.inputs);
    println!("kind {:.3}\n{}", figures.kinds.accuracy(), figures.kinds.render(&KINDS));
    println!("scope {:.3}\n{}", figures.scopes.accuracy(), figures.scopes.render(&SCOPES));
    println!("scope within one level {:.3}", ratio(figures.within_one_level, figures.inputs));
    let [kinds, scopes] = figures.certain;
    println!("certain kinds {kinds}, right {:.3}", figures.certain_kinds.accuracy());
    println!("certain scopes {scopes}, right {:.3}", figures.certain_scopes.accuracy());
}

#[test]
fn kind_and_scope_reach_their_floors_on_inputs_that_no_rule_was_tuned_on() {
    let figures = measure("measure.jsonl");
    print("measure", &figures);

    assert!(figures.kinds.accuracy() >= 0.88);
    assert!(figures.scopes.accuracy() >= 0.88);
    assert!(ratio(figures.within_one_level, figures.inputs) >= 0.97);
}

#[test]
fn certain_rulings_are_right() {
    let figures = measure("tune.jsonl");
    print("tune", &figures);
    println!("{}", figures.errors.join("\n\n"));

    assert!(figures.certain_kinds.accuracy() >= 0.97);
    assert!(figures.certain_scopes.accuracy() >= 0.97);
    assert!(figures.certain[0] >= 60, "certainty that is never given saves no call of a model");
    assert!(figures.certain[1] >= 40, "certainty that is never given saves no call of a model");
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

/// Inspects the faults of one half and the submissions of the other corpus, which are all single requests.
fn measure_faults(faults: &str, submissions: &str) -> (Confusion, usize) {
    let mut confusion = Confusion::default();
    for input in load::<LabelledFault>(faults) {
        let fault = inspect(&input.text);
        let name = fault_name(fault.as_ref());
        if name != input.fault && faults == "inspect_tune.jsonl" {
            println!("{} != {name} {fault:?}: {}\n", input.fault, input.text);
        }
        confusion.count(input.fault, name);
    }
    let mut blocked = 0;
    for input in load::<LabelledSubmission>(submissions) {
        let fault = inspect(&input.text);
        blocked += usize::from(fault.is_some());
        if fault.is_some() && submissions == "tune.jsonl" {
            println!("none != {fault:?}: {}\n", input.text);
        }
    }
    (confusion, blocked)
}

fn print_faults(name: &str, confusion: &Confusion, blocked: usize) {
    println!("{name}: inspect {:.3}\n{}", confusion.accuracy(), confusion.render(&FAULTS));
    for fault in FAULTS {
        let (precision, recall) = (confusion.precision(fault), confusion.recall(fault));
        println!("{fault}: precision {precision:.3}, recall {recall:.3}");
    }
    println!("blocked single requests: {blocked}");
}

#[test]
fn faults_are_found_and_single_requests_are_not_blocked() {
    let (tuned, blocked) = measure_faults("inspect_tune.jsonl", "tune.jsonl");
    print_faults("tune", &tuned, blocked);
    let (confusion, blocked) = measure_faults("inspect_measure.jsonl", "measure.jsonl");
    print_faults("measure", &confusion, blocked);

    assert!(blocked <= 2, "{blocked} single requests are blocked");
    for fault in ["blank", "question", "several"] {
        assert!(confusion.precision(fault) >= 0.85, "{fault}");
        assert!(confusion.recall(fault) >= 0.75, "{fault}");
    }
}

#[test]
fn a_scope_is_assessed_for_every_kind() {
    for kind in WorkKind::ALL {
        let input = load::<LabelledSubmission>("tune.jsonl").remove(0);
        assert!(!assess_scope(&input.submission(), *kind, None).reason.is_empty());
    }
}
