//! What an agent may make of the criteria of a task: sharper ones and more of them, never less.

use super::{Criterion, refine};

/// Why an agent may not change criteria like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Weakening {
    /// Something that was asked for is missing.
    #[error(
        "an agent adds acceptance criteria and takes none away, and this one is missing: {0}; leave \
         it as it is, or in the form in which a rule can check it"
    )]
    Dropped(String),
    /// An exit code that nobody asked for takes the place of the one that is demanded.
    #[error(
        "an agent does not choose which exit code is demanded: leave exit_code {0} out, or behind the one that is demanded"
    )]
    ExitCode(i32),
}

/// Whether an agent may put `after` in the place of `before`: each criterion is still there, or, if it
/// is prose, what [`refine`](super::refine()) makes of it; everything else is an addition.
pub fn check_agents_change(before: &[Criterion], after: &[Criterion]) -> Result<(), Weakening> {
    let mut added: Vec<&Criterion> = after.iter().collect();
    for asked in before {
        let kept = position(&added, asked).or_else(|| {
            let Criterion::Text { description } = asked else { return None };
            position(&added, &refine(description)?)
        });
        let kept = kept.ok_or_else(|| Weakening::Dropped(asked.to_string()))?;
        added.remove(kept);
    }
    if let Some(equals) = added.iter().find_map(|criterion| exit_code(criterion)) {
        return Err(Weakening::ExitCode(equals));
    }
    // Of several, the first is the one that is demanded: in which order they stand is no agent's choice.
    let demanded = after.iter().find_map(exit_code);
    match demanded.filter(|_| demanded != asked_code(before)) {
        Some(equals) => Err(Weakening::ExitCode(equals)),
        None => Ok(()),
    }
}

/// The exit code that is demanded, or else the first that prose asks for.
fn asked_code(criteria: &[Criterion]) -> Option<i32> {
    criteria.iter().find_map(exit_code).or_else(|| {
        criteria.iter().find_map(|criterion| {
            let Criterion::Text { description } = criterion else { return None };
            exit_code(&refine(description)?)
        })
    })
}

fn exit_code(criterion: &Criterion) -> Option<i32> {
    let Criterion::ExitCode { equals } = criterion else { return None };
    Some(*equals)
}

fn position(criteria: &[&Criterion], wanted: &Criterion) -> Option<usize> {
    criteria.iter().position(|criterion| *criterion == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str) -> Criterion {
        Criterion::Text { description: words.to_owned() }
    }

    fn file(path: &str) -> Criterion {
        Criterion::FileExists { path: path.to_owned() }
    }

    #[test]
    fn an_agent_may_sharpen_prose_and_add_criteria() {
        let before = [text("out.txt exists"), text("reads well"), text("exits with code 3")];
        let code = Criterion::ExitCode { equals: 3 };

        for after in [
            before.to_vec(),
            vec![file("out.txt"), text("reads well"), code],
            vec![file("more.txt"), before[1].clone(), before[2].clone(), before[0].clone()],
        ] {
            assert_eq!(check_agents_change(&before, &after), Ok(()), "{after:?}");
        }
    }

    #[test]
    fn an_agent_can_neither_drop_nor_weaken_what_was_asked_for() {
        let before = [text("out.txt exists"), file("a.txt"), file("a.txt")];

        for after in [
            vec![],
            vec![file("a.txt"), file("a.txt")],
            vec![text("out.txt exists"), file("a.txt")],
            vec![text("something exists"), file("a.txt"), file("a.txt")],
        ] {
            let refused = check_agents_change(&before, &after);
            assert!(matches!(refused, Err(Weakening::Dropped(_))), "{after:?}");
        }
        let refused = check_agents_change(&[], &[Criterion::ExitCode { equals: 1 }]);
        assert_eq!(refused, Err(Weakening::ExitCode(1)));
    }

    #[test]
    fn an_agent_does_not_choose_which_of_several_exit_codes_is_demanded() {
        let code = |equals| Criterion::ExitCode { equals };
        let (three, four) = (text("exits with code 3"), text("exits with code 4"));
        for (before, after, expected) in [
            ([code(0), three.clone()], [code(0), code(3)], Ok(())),
            ([code(0), three.clone()], [code(3), code(0)], Err(Weakening::ExitCode(3))),
            ([three.clone(), code(0)], [code(3), code(0)], Err(Weakening::ExitCode(3))),
            ([three.clone(), code(0)], [code(0), code(3)], Ok(())),
            ([code(0), code(3)], [code(3), code(0)], Err(Weakening::ExitCode(3))),
            ([three.clone(), four.clone()], [code(3), code(4)], Ok(())),
            ([three.clone(), four.clone()], [code(4), code(3)], Err(Weakening::ExitCode(4))),
            ([three.clone(), four], [three, code(4)], Err(Weakening::ExitCode(4))),
        ] {
            assert_eq!(check_agents_change(&before, &after), expected, "{before:?} {after:?}");
        }
    }
}
