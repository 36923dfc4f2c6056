//! The lease protocol, checked in every state that it can reach.
//!
//! Two or three runners and the database that grants. Messages are lost, doubled and overtaken by
//! others at will, and runners die. The clock of a runner is not in the model, because it may show
//! anything: a runner that holds a grant may send at any moment, however long it is over by the
//! clock of the database, which alone decides. Variants with a weaker fence show that the model
//! would find two writers.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model, Property};

/// How long a lease lasts, in ticks of the database's clock.
const LIFE: u8 = 1;
const ONE_WRITER: &str = "at most one runner can write";
const NEWEST: &str = "no write of an older grant is taken";
const KEPT: &str = "what was acknowledged stays";
const CANCELED: &str = "nothing is written after a cancellation";
const TAKEN_OVER: &str = "a run is taken over and goes on";
const LATE: &str = "a write arrives after its lease is over";

/// What the database looks at before it takes a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    /// That the grant is the newest, and its time not over.
    Epoch,
    /// That the writer holds the lease now, whichever of its grants the write is of.
    Holder,
    /// Nothing: runners are trusted to look at their own clocks.
    Trust,
}

/// The protocol, and how far it is followed.
#[derive(Debug, Clone)]
struct Protocol {
    fence: Fence,
    runners: u8,
    /// The database's clock stops here.
    ticks: u8,
    /// Messages on their way at once.
    in_flight: usize,
    /// Transitions of the run.
    transitions: u8,
    /// Grants and cancellations of it.
    epochs: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now: u8,
    /// Grows with every grant and with a cancellation.
    epoch: u8,
    holder: Option<u8>,
    expires: u8,
    is_canceled: bool,
    /// The epoch of each transition that was saved.
    saved: Vec<u8>,
    /// What each runner believes.
    beliefs: Vec<Option<Belief>>,
    network: BTreeSet<Message>,
    /// What must never happen, noted when it does.
    faults: BTreeSet<&'static str>,
}

/// What a runner that was granted the task remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Belief {
    epoch: u8,
    /// Transitions of which it knows that they are saved.
    saved: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Message {
    runner: u8,
    epoch: u8,
    says: Says,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Says {
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
enum Action {
    Tick,
    Cancel,
    Die(u8),
    Send(Message),
    /// The message stays on its way: it may be delivered again.
    Deliver(Message),
    Lose(Message),
}

impl State {
    /// Whether a write of this runner under this grant would be taken now.
    fn may_write(&self, fence: Fence, runner: u8, epoch: u8) -> bool {
        let is_live = self.holder.is_some() && self.now < self.expires;
        match fence {
            Fence::Epoch => is_live && epoch == self.epoch,
            Fence::Holder => is_live && self.holder == Some(runner),
            Fence::Trust => true,
        }
    }

    fn writers(&self, fence: Fence) -> usize {
        let believers = (0..).zip(&self.beliefs).filter_map(|(runner, b)| Some((runner, (*b)?)));
        believers.filter(|(runner, b)| self.may_write(fence, *runner, b.epoch)).count()
    }

    fn last(&self) -> u8 {
        u8::try_from(self.saved.len()).unwrap()
    }

    fn answer(&mut self, to: Message, says: Says) {
        self.network.insert(Message { says, ..to });
    }

    /// What the database does with a message.
    fn receive(&mut self, fence: Fence, message: Message) {
        let Message { runner, epoch, says } = message;
        let may_write = self.may_write(fence, runner, epoch);
        match says {
            Says::Claim => self.grant(message),
            Says::Renew if may_write => self.expires = self.now + LIFE,
            Says::Release if may_write => self.holder = None,
            Says::Save(number) => self.save(message, number, may_write),
            Says::Renew | Says::Release => self.answer(message, Says::Refused),
            Says::Granted(_) | Says::Saved(_) | Says::Refused => self.believe(message),
        }
    }

    fn grant(&mut self, claim: Message) {
        if self.is_canceled || (self.holder.is_some() && self.now < self.expires) {
            return;
        }
        self.epoch += 1;
        self.holder = Some(claim.runner);
        self.expires = self.now + LIFE;
        let grant = Message { epoch: self.epoch, ..claim };
        self.answer(grant, Says::Granted(self.last()));
    }

    fn save(&mut self, message: Message, number: u8, may_write: bool) {
        // The same transition again: its answer was lost.
        if number == self.last() && self.saved.last() == Some(&message.epoch) {
            return self.answer(message, Says::Saved(number));
        }
        if !may_write || number != self.last() + 1 {
            return self.answer(message, Says::Refused);
        }
        if message.epoch != self.epoch {
            self.faults.insert(NEWEST);
        }
        if self.is_canceled {
            self.faults.insert(CANCELED);
        }
        self.saved.push(message.epoch);
        self.expires = self.expires.max(self.now + LIFE);
        self.answer(message, Says::Saved(number));
    }

    /// What a runner makes of an answer.
    fn believe(&mut self, answer: Message) {
        let belief = &mut self.beliefs[usize::from(answer.runner)];
        match (answer.says, belief.as_mut()) {
            (Says::Granted(saved), None) => *belief = Some(Belief { epoch: answer.epoch, saved }),
            (Says::Saved(number), Some(held)) if held.epoch == answer.epoch => {
                held.saved = held.saved.max(number);
            }
            (Says::Refused, Some(held)) if held.epoch == answer.epoch => *belief = None,
            _ => {}
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
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

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.now < self.ticks {
            actions.push(Action::Tick);
        }
        if !state.is_canceled {
            actions.push(Action::Cancel);
        }
        for message in &state.network {
            actions.push(Action::Deliver(*message));
            actions.push(Action::Lose(*message));
        }
        for (runner, belief) in (0..self.runners).zip(&state.beliefs) {
            let epoch = belief.map_or(0, |belief| belief.epoch);
            let send = |says| Action::Send(Message { runner, epoch, says });
            match belief {
                None => actions.push(send(Says::Claim)),
                Some(belief) => {
                    actions.push(Action::Die(runner));
                    actions.extend([Says::Renew, Says::Release].map(send));
                    if belief.saved < self.transitions {
                        actions.push(send(Says::Save(belief.saved + 1)));
                    }
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick => state.now += 1,
            Action::Cancel => {
                state.is_canceled = true;
                state.epoch += 1;
                state.holder = None;
            }
            Action::Die(runner) => state.beliefs[usize::from(runner)] = None,
            Action::Send(message) => drop(state.network.insert(message)),
            Action::Deliver(message) => state.receive(self.fence, message),
            Action::Lose(message) => drop(state.network.remove(&message)),
        }
        // What does nothing is no step.
        let is_near = state.network.len() <= self.in_flight && state.epoch <= self.epochs;
        (is_near && state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let kept = |_: &Self, state: &State| {
            state.beliefs.iter().flatten().all(|belief| belief.saved <= state.last())
        };
        let late = |_: &Self, state: &State| {
            state.network.iter().any(|m| matches!(m.says, Says::Save(_)) && m.epoch < state.epoch)
        };
        vec![
            Property::always(ONE_WRITER, |model: &Self, state: &State| {
                state.writers(model.fence) <= 1
            }),
            Property::always(NEWEST, |_, state: &State| !state.faults.contains(NEWEST)),
            Property::always(CANCELED, |_, state: &State| !state.faults.contains(CANCELED)),
            Property::always(KEPT, kept),
            Property::sometimes(TAKEN_OVER, |_, state: &State| {
                state.saved.first() < state.saved.last()
            }),
            Property::sometimes(LATE, late),
        ]
    }
}

/// Looks at every state, unless `wanted` are found before.
fn checked(model: Protocol, wanted: &[&'static str]) -> impl Checker<Protocol> {
    let until = match wanted {
        [] => HasDiscoveries::All,
        wanted => HasDiscoveries::AllOf(wanted.iter().copied().collect()),
    };
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    println!("{:?}: {} states", checker.model(), checker.unique_state_count());
    checker
}

/// Two runners as far as they are followed.
fn two_runners(fence: Fence) -> Protocol {
    Protocol { fence, runners: 2, ticks: 2, in_flight: 2, transitions: 2, epochs: 3 }
}

#[test]
fn two_runners_never_hold_a_task_so_that_both_can_write() {
    checked(two_runners(Fence::Epoch), &[]).assert_properties();
}

#[test]
fn three_runners_never_hold_a_task_so_that_two_can_write() {
    let three = Protocol { runners: 3, ticks: 1, ..two_runners(Fence::Epoch) };
    checked(three, &[]).assert_properties();
}

#[test]
fn without_the_epoch_the_model_finds_an_old_grant_that_writes() {
    let checker = checked(two_runners(Fence::Holder), &[NEWEST]);

    let path = checker.discovery(NEWEST).expect("the counterexample");

    println!("{path}");
}

#[test]
fn without_any_fence_the_model_finds_two_writers() {
    let wrong = [ONE_WRITER, NEWEST, CANCELED];
    let checker = checked(two_runners(Fence::Trust), &wrong);

    for name in wrong {
        assert!(checker.discovery(name).is_some(), "not found: {name}");
    }
}
