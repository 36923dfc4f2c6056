//! Model check of the lease protocol over all reachable states.
//!
//! Two or three runners and the database that grants leases. Messages may be lost, duplicated and
//! reordered, and runners may crash. The clocks of runners are not modelled, because they are not
//! trusted: a runner with a grant may send at any time, even after the lease expired by the database's
//! clock, which alone decides. Variants with a weaker fence show that the model would find two writers.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model, Property};

/// Lifetime of a lease, in ticks of the database's clock.
const LIFE: u8 = 1;
const ONE_WRITER: &str = "at most one runner can write";
const NEWEST: &str = "no write of an older grant is taken";
const KEPT: &str = "what was acknowledged stays";
const CANCELED: &str = "nothing is written after a cancellation";
const TAKEN_OVER: &str = "a run is taken over and goes on";
const LATE: &str = "a write arrives after its lease is over";

/// What the database checks before it accepts a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FenceRule {
    /// The grant is the newest and has not expired.
    Epoch,
    /// The writer holds the lease, under any of its grants.
    Holder,
    /// Nothing: relies on the runners' own clocks.
    Trust,
}

/// The protocol and the bounds of the model.
#[derive(Debug, Clone)]
struct LeaseProtocol {
    fence: FenceRule,
    runners: u8,
    /// Maximum time of the database's clock.
    ticks: u8,
    /// Maximum number of messages in flight.
    in_flight: usize,
    /// Maximum number of transitions.
    transitions: u8,
    /// Maximum number of grants and cancellations.
    epochs: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LeaseModelState {
    now: u8,
    /// Incremented by every grant and by a cancellation.
    epoch: u8,
    holder: Option<u8>,
    expires: u8,
    is_canceled: bool,
    /// Epoch of each saved transition.
    saved: Vec<u8>,
    /// What each runner believes.
    beliefs: Vec<Option<RunnerBelief>>,
    network: BTreeSet<LeaseModelMessage>,
    /// Violations of the invariants.
    faults: BTreeSet<&'static str>,
}

/// Local state of a runner with a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct RunnerBelief {
    epoch: u8,
    /// Transitions known to be saved.
    saved: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct LeaseModelMessage {
    runner: u8,
    epoch: u8,
    says: LeaseModelMessageBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum LeaseModelMessageBody {
    // To the database.
    Claim,
    Renew,
    Release,
    Save(u8),
    // To the runner.
    Granted(u8),
    Saved(u8),
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum LeaseModelAction {
    Tick,
    Cancel,
    Die(u8),
    Send(LeaseModelMessage),
    /// The message stays in flight: it may be delivered again.
    Deliver(LeaseModelMessage),
    Lose(LeaseModelMessage),
}

impl LeaseModelState {
    /// Whether a write of this runner under this grant would be accepted now.
    fn may_write(&self, fence: FenceRule, runner: u8, epoch: u8) -> bool {
        let is_live = self.holder.is_some() && self.now < self.expires;
        match fence {
            FenceRule::Epoch => is_live && epoch == self.epoch,
            FenceRule::Holder => is_live && self.holder == Some(runner),
            FenceRule::Trust => true,
        }
    }

    fn writers(&self, fence: FenceRule) -> usize {
        let believers = (0..).zip(&self.beliefs).filter_map(|(runner, b)| Some((runner, (*b)?)));
        believers.filter(|(runner, b)| self.may_write(fence, *runner, b.epoch)).count()
    }

    fn last(&self) -> u8 {
        u8::try_from(self.saved.len()).unwrap()
    }

    fn send_response(&mut self, to: LeaseModelMessage, says: LeaseModelMessageBody) {
        self.network.insert(LeaseModelMessage { says, ..to });
    }

    /// Processes a message at the database.
    fn receive(&mut self, fence: FenceRule, message: LeaseModelMessage) {
        let LeaseModelMessage { runner, epoch, says } = message;
        let may_write = self.may_write(fence, runner, epoch);
        match says {
            LeaseModelMessageBody::Claim => self.grant(message),
            LeaseModelMessageBody::Renew if may_write => self.expires = self.now + LIFE,
            LeaseModelMessageBody::Release if may_write => self.holder = None,
            LeaseModelMessageBody::Save(number) => self.save(message, number, may_write),
            LeaseModelMessageBody::Renew | LeaseModelMessageBody::Release => {
                self.send_response(message, LeaseModelMessageBody::Refused);
            }
            LeaseModelMessageBody::Granted(_)
            | LeaseModelMessageBody::Saved(_)
            | LeaseModelMessageBody::Refused => self.receive_response(message),
        }
    }

    fn grant(&mut self, claim: LeaseModelMessage) {
        if self.is_canceled || (self.holder.is_some() && self.now < self.expires) {
            return;
        }
        self.epoch += 1;
        self.holder = Some(claim.runner);
        self.expires = self.now + LIFE;
        let grant = LeaseModelMessage { epoch: self.epoch, ..claim };
        self.send_response(grant, LeaseModelMessageBody::Granted(self.last()));
    }

    fn save(&mut self, message: LeaseModelMessage, number: u8, may_write: bool) {
        // A repeated transition: its response was lost.
        if number == self.last() && self.saved.last() == Some(&message.epoch) {
            return self.send_response(message, LeaseModelMessageBody::Saved(number));
        }
        if !may_write || number != self.last() + 1 {
            return self.send_response(message, LeaseModelMessageBody::Refused);
        }
        if message.epoch != self.epoch {
            self.faults.insert(NEWEST);
        }
        if self.is_canceled {
            self.faults.insert(CANCELED);
        }
        self.saved.push(message.epoch);
        self.expires = self.expires.max(self.now + LIFE);
        self.send_response(message, LeaseModelMessageBody::Saved(number));
    }

    /// Processes a response at a runner.
    fn receive_response(&mut self, answer: LeaseModelMessage) {
        let belief = &mut self.beliefs[usize::from(answer.runner)];
        match (answer.says, belief.as_mut()) {
            (LeaseModelMessageBody::Granted(saved), None) => {
                *belief = Some(RunnerBelief { epoch: answer.epoch, saved });
            }
            (LeaseModelMessageBody::Saved(number), Some(held)) if held.epoch == answer.epoch => {
                held.saved = held.saved.max(number);
            }
            (LeaseModelMessageBody::Refused, Some(held)) if held.epoch == answer.epoch => {
                *belief = None;
            }
            _ => {}
        }
    }
}

impl Model for LeaseProtocol {
    type State = LeaseModelState;
    type Action = LeaseModelAction;

    fn init_states(&self) -> Vec<LeaseModelState> {
        vec![LeaseModelState {
            now: 0,
            epoch: 0,
            holder: None,
            expires: 0,
            is_canceled: false,
            saved: vec![],
            beliefs: vec![None; usize::from(self.runners)],
            network: BTreeSet::new(),
            faults: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &LeaseModelState, actions: &mut Vec<LeaseModelAction>) {
        if state.now < self.ticks {
            actions.push(LeaseModelAction::Tick);
        }
        if !state.is_canceled {
            actions.push(LeaseModelAction::Cancel);
        }
        for message in &state.network {
            actions.push(LeaseModelAction::Deliver(*message));
            actions.push(LeaseModelAction::Lose(*message));
        }
        for (runner, belief) in (0..self.runners).zip(&state.beliefs) {
            let epoch = belief.map_or(0, |belief| belief.epoch);
            let send = |says| LeaseModelAction::Send(LeaseModelMessage { runner, epoch, says });
            match belief {
                None => actions.push(send(LeaseModelMessageBody::Claim)),
                Some(belief) => {
                    actions.push(LeaseModelAction::Die(runner));
                    actions.extend(
                        [LeaseModelMessageBody::Renew, LeaseModelMessageBody::Release].map(send),
                    );
                    if belief.saved < self.transitions {
                        actions.push(send(LeaseModelMessageBody::Save(belief.saved + 1)));
                    }
                }
            }
        }
    }

    fn next_state(
        &self,
        last: &LeaseModelState,
        action: LeaseModelAction,
    ) -> Option<LeaseModelState> {
        let mut state = last.clone();
        match action {
            LeaseModelAction::Tick => state.now += 1,
            LeaseModelAction::Cancel => {
                state.is_canceled = true;
                state.epoch += 1;
                state.holder = None;
            }
            LeaseModelAction::Die(runner) => state.beliefs[usize::from(runner)] = None,
            LeaseModelAction::Send(message) => drop(state.network.insert(message)),
            LeaseModelAction::Deliver(message) => state.receive(self.fence, message),
            LeaseModelAction::Lose(message) => drop(state.network.remove(&message)),
        }
        // An action without effect is not a transition.
        let is_near = state.network.len() <= self.in_flight && state.epoch <= self.epochs;
        (is_near && state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let kept = |_: &Self, state: &LeaseModelState| {
            state.beliefs.iter().flatten().all(|belief| belief.saved <= state.last())
        };
        let late = |_: &Self, state: &LeaseModelState| {
            state
                .network
                .iter()
                .any(|m| matches!(m.says, LeaseModelMessageBody::Save(_)) && m.epoch < state.epoch)
        };
        vec![
            Property::always(ONE_WRITER, |model: &Self, state: &LeaseModelState| {
                state.writers(model.fence) <= 1
            }),
            Property::always(NEWEST, |_, state: &LeaseModelState| !state.faults.contains(NEWEST)),
            Property::always(CANCELED, |_, state: &LeaseModelState| {
                !state.faults.contains(CANCELED)
            }),
            Property::always(KEPT, kept),
            Property::sometimes(TAKEN_OVER, |_, state: &LeaseModelState| {
                state.saved.first() < state.saved.last()
            }),
            Property::sometimes(LATE, late),
        ]
    }
}

/// Checks every state, unless all of `wanted` are found before.
fn check_model(model: LeaseProtocol, expected: &[&'static str]) -> impl Checker<LeaseProtocol> {
    let until = match expected {
        [] => HasDiscoveries::All,
        expected => HasDiscoveries::AllOf(expected.iter().copied().collect()),
    };
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    println!("{:?}: {} states", checker.model(), checker.unique_state_count());
    checker
}

/// Two runners with the model's bounds.
fn two_runners(fence: FenceRule) -> LeaseProtocol {
    LeaseProtocol { fence, runners: 2, ticks: 2, in_flight: 2, transitions: 2, epochs: 3 }
}

#[test]
fn two_runners_never_hold_a_task_so_that_both_can_write() {
    check_model(two_runners(FenceRule::Epoch), &[]).assert_properties();
}

#[test]
fn three_runners_never_hold_a_task_so_that_two_can_write() {
    let three = LeaseProtocol { runners: 3, ticks: 1, ..two_runners(FenceRule::Epoch) };
    check_model(three, &[]).assert_properties();
}

#[test]
fn without_the_epoch_the_model_finds_an_old_grant_that_writes() {
    let checker = check_model(two_runners(FenceRule::Holder), &[NEWEST]);

    let path = checker.discovery(NEWEST).expect("the counterexample");

    println!("{path}");
}

#[test]
fn without_any_fence_the_model_finds_two_writers() {
    let wrong = [ONE_WRITER, NEWEST, CANCELED];
    let checker = check_model(two_runners(FenceRule::Trust), &wrong);

    for name in wrong {
        assert!(checker.discovery(name).is_some(), "not found: {name}");
    }
}
