//! Random task histories against a model: who may drive a task, what is persisted, and how late
//! writers are rejected.
//!
//! The store is a real one. Only the end of a lease's time is brought about from outside, as if the
//! clock of the database had moved.

mod acts;
mod model;
mod people;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use self::acts::DrivingFixture;

/// Number of concurrent tasks.
const TASKS: usize = 2;

/// The next act. Grants are counted from the newest; most have expired, because their holders died,
/// or were suspended and resumed.
#[derive(Debug, Clone, Copy)]
enum DrivingAct {
    /// A runner asks for any task.
    Claim {
        runner: usize,
    },
    /// A runner asks for one task.
    Start {
        runner: usize,
        task: usize,
    },
    /// The database's clock passes the end of the lease, because its holder died.
    Expire {
        task: usize,
    },
    Renew {
        grant: usize,
    },
    /// A node succeeds.
    Save {
        grant: usize,
    },
    /// The last request again, whose answer was lost.
    SaveAgain {
        grant: usize,
    },
    /// A transition that follows none.
    Skip {
        grant: usize,
    },
    /// The last node ends: well, or not.
    Finish {
        grant: usize,
        is_well: bool,
    },
    Effect {
        grant: usize,
        key: usize,
    },
    Dispatch {
        grant: usize,
        step: u32,
    },
    Release {
        grant: usize,
    },
    /// A runner suspends the run.
    PutDown {
        grant: usize,
    },
    /// A node has a question to a person.
    Ask {
        grant: usize,
    },
    /// A person acts.
    Person {
        task: usize,
        verb: PersonAction,
    },
}

/// Actions of people on tasks and their runs.
#[derive(Debug, Clone, Copy)]
enum PersonAction {
    Answer,
    Pause,
    Resume,
    Cancel,
}

fn act() -> impl Strategy<Value = DrivingAct> {
    let (task, runner, grant) = (0..TASKS, 0..3_usize, 0..12_usize);
    prop_oneof![
        4 => runner.clone().prop_map(|runner| DrivingAct::Claim { runner }),
        3 => (runner, task.clone()).prop_map(|(runner, task)| DrivingAct::Start { runner, task }),
        3 => task.clone().prop_map(|task| DrivingAct::Expire { task }),
        2 => grant.clone().prop_map(|grant| DrivingAct::Renew { grant }),
        6 => grant.clone().prop_map(|grant| DrivingAct::Save { grant }),
        2 => grant.clone().prop_map(|grant| DrivingAct::SaveAgain { grant }),
        1 => grant.clone().prop_map(|grant| DrivingAct::Skip { grant }),
        1 => (grant.clone(), any::<bool>())
            .prop_map(|(grant, is_well)| DrivingAct::Finish { grant, is_well }),
        3 => (grant.clone(), 0..3_usize).prop_map(|(grant, key)| DrivingAct::Effect { grant, key }),
        3 => (grant.clone(), 0..3_u32).prop_map(|(grant, step)| DrivingAct::Dispatch { grant, step }),
        2 => grant.clone().prop_map(|grant| DrivingAct::Release { grant }),
        1 => grant.clone().prop_map(|grant| DrivingAct::PutDown { grant }),
        2 => grant.prop_map(|grant| DrivingAct::Ask { grant }),
        6 => (task, verb()).prop_map(|(task, verb)| DrivingAct::Person { task, verb }),
    ]
}

fn verb() -> impl Strategy<Value = PersonAction> {
    prop_oneof![
        3 => Just(PersonAction::Answer),
        1 => Just(PersonAction::Pause),
        3 => Just(PersonAction::Resume),
        1 => Just(PersonAction::Cancel),
    ]
}

#[test]
fn whatever_happens_to_a_task_it_has_one_driver_and_keeps_what_was_done() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driven = runtime.block_on(DrivingFixture::new());
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let lives = proptest::collection::vec(act(), 1..60);
    let outcome = TestRunner::new(config).run(&lives, |life| {
        runtime.block_on(driven.live(&life));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
