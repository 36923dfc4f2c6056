//! Tests of plans in every order.

use cynode_domain::ids::TaskId;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::*;
use crate::work::plan::build_units;

fn component(name: &str, dependencies: &[&str]) -> WorkComponent {
    WorkComponent {
        name: name.to_owned(),
        description: String::new(),
        priority: 0,
        dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
        skip_design: false,
        skip_review: false,
        units: vec![],
    }
}

fn board(components: Vec<WorkComponent>) -> WorkBoard {
    let ordered: Vec<_> = components.iter().collect();
    let units = build_units(TaskId::generate(), &ordered, DateTime::UNIX_EPOCH);
    let mut board = WorkBoard::new(components, units, DateTime::UNIX_EPOCH);
    board.advance().unwrap();
    board
}

fn status(board: &WorkBoard, id: &str) -> Status {
    board.unit(board.find_unit(id).unwrap()).status
}

/// Starts and submits the unit.
fn submit(board: &mut WorkBoard, id: &str) {
    let index = board.find_unit(id).unwrap();
    board.transition(index, Status::InProgress).unwrap();
    board.transition(index, Status::Submitted).unwrap();
}

fn approve(board: &mut WorkBoard, id: &str) {
    submit(board, id);
    let index = board.find_unit(id).unwrap();
    board.approve(index).unwrap();
}

#[test]
fn review_and_test_begin_when_the_implementation_is_approved() {
    let mut board = board(vec![component("auth", &[])]);
    assert_eq!(board.assigned, ["spec:auth"]);

    for id in ["spec:auth", "design:auth", "impl:auth"] {
        approve(&mut board, id);
    }

    assert_eq!(board.assigned[3..], ["review:auth", "test:auth"]);
    assert_eq!(status(&board, "impl:auth"), Status::Routed);
    approve(&mut board, "review:auth");
    assert_eq!(status(&board, "review:auth"), Status::Approved);
    approve(&mut board, "test:auth");
    assert!(board.is_completed());
}

#[test]
fn a_component_waits_for_the_components_it_depends_on() {
    let fix = |name, on: &[&str]| WorkComponent {
        units: vec![UnitKind::Implementation],
        ..component(name, on)
    };
    let mut board = board(vec![fix("api", &[]), fix("ui", &["api"])]);
    assert_eq!(board.assigned, ["impl:api"]);

    approve(&mut board, "impl:api");

    assert_eq!(status(&board, "impl:api"), Status::Completed);
    assert_eq!(board.assigned, ["impl:api", "impl:ui"]);
}

#[test]
fn what_comes_after_a_changed_unit_is_looked_at_again() {
    let mut board = board(vec![component("auth", &[])]);
    for id in ["spec:auth", "design:auth", "impl:auth", "test:auth"] {
        approve(&mut board, id);
    }
    let implementation = board.find_unit("impl:auth").unwrap();

    board.revise(implementation, json!("off by one")).unwrap();
    approve(&mut board, "impl:auth");

    assert_eq!(board.unit(implementation).revision_count, 1);
    assert_eq!(
        status(&board, "test:auth"),
        Status::RevisionRequested,
        "it tested an outdated version"
    );
    assert_eq!(status(&board, "review:auth"), Status::Assigned, "it had not started");
}

#[test]
fn a_unit_is_sent_back_twice_and_not_a_third_time() {
    let mut board = board(vec![component("auth", &[])]);
    let spec = board.find_unit("spec:auth").unwrap();
    for _ in 0..MAX_REVISIONS {
        submit(&mut board, "spec:auth");
        board.revise(spec, json!("no")).unwrap();
    }
    submit(&mut board, "spec:auth");

    let refused = board.revise(spec, json!("no"));

    assert!(matches!(refused, Err(WorkError::TooManyRevisions(_))));
    board.approve(spec).unwrap();
}

proptest! {
    #[test]
    fn no_unit_begins_before_what_it_waits_for_and_every_plan_can_be_finished(
        shapes in prop::collection::vec(prop::collection::btree_set(prop::sample::select(UnitKind::ALL), 1..5), 1..5),
        moves in prop::collection::vec((any::<Index>(), any::<bool>()), 0..60),
    ) {
        let components = shapes.iter().enumerate().map(|(number, kinds)| WorkComponent {
            units: kinds.iter().copied().collect(),
            dependencies: number.checked_sub(1).map(|n| format!("c{n}")).into_iter().collect(),
            ..component(&format!("c{number}"), &[])
        });
        let mut board = board(components.collect());
        for (index, is_good) in &moves {
            let index = index.index(board.units.len());
            let _ = if *is_good { board.approve(index) } else { board.revise(index, json!("no")) };
            let id = board.units[index].id.clone();
            if matches!(board.units[index].status, Status::Assigned | Status::RevisionRequested) {
                submit(&mut board, &id);
            }
            for index in 0..board.units.len() {
                if board.units[index].status == Status::Completed {
                    prop_assert!(board.unit_indexes(&board.units[index].component).all(|other| board.units[other].status == Status::Completed));
                }
            }
        }
        for _ in 0..200 {
            let open = |unit: &WorkUnit| matches!(unit.status, Status::Assigned | Status::RevisionRequested | Status::Submitted);
            let Some(index) = board.units.iter().position(open) else { break };
            if board.units[index].status != Status::Submitted {
                let id = board.units[index].id.clone();
                submit(&mut board, &id);
            }
            board.approve(index).unwrap();
        }
        prop_assert!(board.is_completed(), "{:?}", board.units.iter().map(|u| (&u.id, u.status)).collect::<Vec<_>>());
    }
}
