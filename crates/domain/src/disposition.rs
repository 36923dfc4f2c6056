//! Routing of agent messages to the project manager: a total function of kind and type.

use crate::agent::{HelpKind, MessageKind, NoteKind, Progress};
use crate::report::ReportKind;

/// How a message to the project manager is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Recorded; no action.
    Record,
    /// The project manager decides and acts.
    Decide,
    /// Forwarded to another agent: a question to that agent, or the answer to a question.
    Forward,
    /// A person answers.
    AskPerson,
}

impl Disposition {
    /// The disposition of a message of this kind and type. Unknown types go to a person.
    pub fn for_message(kind: MessageKind, subtype: &str) -> Self {
        match kind {
            MessageKind::Report => subtype.parse().map_or(Self::AskPerson, report_disposition),
            MessageKind::Status => subtype.parse().map_or(Self::AskPerson, status_disposition),
            MessageKind::Note => subtype.parse().map_or(Self::AskPerson, note_disposition),
            MessageKind::Help => subtype.parse().map_or(Self::AskPerson, help_disposition),
            MessageKind::Submission => Self::Decide,
            MessageKind::Completion | MessageKind::Instruction => Self::Record,
        }
    }
}

/// How the request of a unit handles a message of the unit's agent. No message completes a unit: the result of the
/// attempt is judged when its job has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitDisposition {
    /// Recorded on the attempt.
    Record,
    /// Recorded, and acknowledged with the note that the result of the job counts.
    Acknowledge,
    /// A question of the request to a person.
    AskPerson,
}

impl UnitDisposition {
    /// The disposition of a message of this kind and type. Unknown types go to a person.
    pub fn for_message(kind: MessageKind, subtype: &str) -> Self {
        match kind {
            MessageKind::Submission | MessageKind::Completion => Self::Acknowledge,
            MessageKind::Instruction => Self::Record,
            // Its attempt has one agent: there is no other one to ask.
            MessageKind::Help => Self::AskPerson,
            MessageKind::Report => match subtype.parse() {
                Ok(
                    ReportKind::WorkCompleted
                    | ReportKind::ReviewApproved
                    | ReportKind::ReviewChangesRequested
                    | ReportKind::TestsPassed
                    | ReportKind::TestsFailed,
                ) => Self::Acknowledge,
                Ok(
                    ReportKind::WorkBlocked
                    | ReportKind::NeedsClarification
                    | ReportKind::RequestHumanInput,
                )
                | Err(_) => Self::AskPerson,
            },
            MessageKind::Status => match subtype.parse() {
                Ok(Progress::Working) => Self::Record,
                Ok(Progress::Done | Progress::NeedsReview) => Self::Acknowledge,
                Ok(Progress::Blocked | Progress::ContextLimit) | Err(_) => Self::AskPerson,
            },
            MessageKind::Note => match subtype.parse() {
                Ok(NoteKind::Info | NoteKind::Answer) => Self::Record,
                Ok(NoteKind::Question | NoteKind::Request) | Err(_) => Self::AskPerson,
            },
        }
    }
}

fn report_disposition(kind: ReportKind) -> Disposition {
    match kind {
        ReportKind::RequestHumanInput => Disposition::AskPerson,
        ReportKind::WorkCompleted
        | ReportKind::ReviewApproved
        | ReportKind::ReviewChangesRequested
        | ReportKind::TestsPassed
        | ReportKind::TestsFailed
        | ReportKind::WorkBlocked
        | ReportKind::NeedsClarification => Disposition::Decide,
    }
}

fn status_disposition(progress: Progress) -> Disposition {
    match progress {
        Progress::Working | Progress::Done => Disposition::Record,
        Progress::Blocked | Progress::NeedsReview => Disposition::Decide,
        Progress::ContextLimit => Disposition::AskPerson,
    }
}

fn note_disposition(kind: NoteKind) -> Disposition {
    match kind {
        NoteKind::Info => Disposition::Record,
        NoteKind::Question | NoteKind::Request => Disposition::Decide,
        NoteKind::Answer => Disposition::Forward,
    }
}

fn help_disposition(kind: HelpKind) -> Disposition {
    match kind {
        HelpKind::Human => Disposition::AskPerson,
        HelpKind::Agent => Disposition::Forward,
        HelpKind::Clarification | HelpKind::PmDecision => Disposition::Decide,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_that_wants_something_leads_to_an_action_or_to_a_person() {
        let wants_nothing =
            [("status", "working"), ("status", "done"), ("note", "info"), ("completion", "done")];
        let all = [
            (MessageKind::Report, ReportKind::ALL.iter().map(|word| word.as_str()).collect()),
            (MessageKind::Status, Progress::ALL.iter().map(|word| word.as_str()).collect()),
            (MessageKind::Note, NoteKind::ALL.iter().map(|word| word.as_str()).collect()),
            (MessageKind::Help, HelpKind::ALL.iter().map(|word| word.as_str()).collect()),
            (MessageKind::Submission, vec!["submitted"]),
            (MessageKind::Completion, vec!["done"]),
        ];

        for (kind, subtypes) in all {
            for subtype in subtypes {
                let is_recorded = Disposition::for_message(kind, subtype) == Disposition::Record;
                assert_eq!(
                    is_recorded,
                    wants_nothing.contains(&(kind.as_str(), subtype)),
                    "{kind}/{subtype}"
                );
            }
        }
    }

    #[test]
    fn no_message_of_a_unit_decides_about_it_and_every_question_reaches_a_person() {
        use UnitDisposition as To;
        let report = |kind: ReportKind| To::for_message(MessageKind::Report, kind.as_str());
        let status = |kind: Progress| To::for_message(MessageKind::Status, kind.as_str());
        let reports = ReportKind::ALL.iter().filter(|kind| report(**kind) == To::AskPerson);
        let asking: Vec<_> = reports.map(|kind| kind.as_str()).collect();
        assert_eq!(asking, ["work_blocked", "needs_clarification", "request_human_input"]);
        assert!(ReportKind::ALL.iter().all(|kind| report(*kind) != To::Record));
        assert_eq!(status(Progress::Working), To::Record);
        assert_eq!(status(Progress::Blocked), To::AskPerson);
        assert_eq!(status(Progress::Done), To::Acknowledge);
        for kind in HelpKind::ALL {
            assert_eq!(To::for_message(MessageKind::Help, kind.as_str()), To::AskPerson);
        }
        for kind in [MessageKind::Submission, MessageKind::Completion] {
            assert_eq!(To::for_message(kind, "done"), To::Acknowledge);
        }
        for kind in [MessageKind::Report, MessageKind::Status, MessageKind::Note] {
            assert_eq!(To::for_message(kind, "gossip"), To::AskPerson);
        }
    }

    #[test]
    fn a_person_looks_at_types_that_are_not_known() {
        for kind in [MessageKind::Report, MessageKind::Status, MessageKind::Note, MessageKind::Help]
        {
            assert_eq!(Disposition::for_message(kind, "gossip"), Disposition::AskPerson);
        }
    }
}
