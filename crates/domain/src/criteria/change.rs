//! Changes of a task's criteria by agents: agents may refine and add criteria, never remove one.

use super::{Criterion, refine_prose};

/// Why an agent's change of the criteria is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CriteriaWeakening {
    /// A criterion was removed.
    #[error(
        "agents may add acceptance criteria but not remove any, and this one is missing: {0}; keep \
         it, or replace it with its checkable form"
    )]
    Removed(String),
    /// An added exit code would replace the required one.
    #[error(
        "agents may not change the required exit code: omit exit_code {0}, or list it after the required one"
    )]
    ExitCode(i32),
}

/// Checks that an agent may replace `before` with `after`: each criterion is still present or, if it is
/// prose, in the form [`refine_prose`](super::refine_prose()) gives it; the rest are additions.
pub fn check_agent_change(
    before: &[Criterion],
    after: &[Criterion],
) -> Result<(), CriteriaWeakening> {
    let mut added: Vec<&Criterion> = after.iter().collect();
    for criterion in before {
        let kept = position(&added, criterion).or_else(|| {
            let Criterion::Text { description } = criterion else { return None };
            position(&added, &refine_prose(description)?)
        });
        let kept = kept.ok_or_else(|| CriteriaWeakening::Removed(criterion.to_string()))?;
        added.remove(kept);
    }
    if let Some(equals) = added.iter().find_map(|criterion| exit_code(criterion)) {
        return Err(CriteriaWeakening::ExitCode(equals));
    }
    // The first exit code is the required one, so agents may not reorder them.
    let demanded = after.iter().find_map(exit_code);
    match demanded.filter(|_| demanded != required_exit_code(before)) {
        Some(equals) => Err(CriteriaWeakening::ExitCode(equals)),
        None => Ok(()),
    }
}

/// The required exit code, or else the first that prose asks for.
fn required_exit_code(criteria: &[Criterion]) -> Option<i32> {
    criteria.iter().find_map(exit_code).or_else(|| {
        criteria.iter().find_map(|criterion| {
            let Criterion::Text { description } = criterion else { return None };
            exit_code(&refine_prose(description)?)
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
            assert_eq!(check_agent_change(&before, &after), Ok(()), "{after:?}");
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
            let refused = check_agent_change(&before, &after);
            assert!(matches!(refused, Err(CriteriaWeakening::Removed(_))), "{after:?}");
        }
        let refused = check_agent_change(&[], &[Criterion::ExitCode { equals: 1 }]);
        assert_eq!(refused, Err(CriteriaWeakening::ExitCode(1)));
    }

    #[test]
    fn an_agent_does_not_choose_which_of_several_exit_codes_is_demanded() {
        let code = |equals| Criterion::ExitCode { equals };
        let (three, four) = (text("exits with code 3"), text("exits with code 4"));
        for (before, after, expected) in [
            ([code(0), three.clone()], [code(0), code(3)], Ok(())),
            ([code(0), three.clone()], [code(3), code(0)], Err(CriteriaWeakening::ExitCode(3))),
            ([three.clone(), code(0)], [code(3), code(0)], Err(CriteriaWeakening::ExitCode(3))),
            ([three.clone(), code(0)], [code(0), code(3)], Ok(())),
            ([code(0), code(3)], [code(3), code(0)], Err(CriteriaWeakening::ExitCode(3))),
            ([three.clone(), four.clone()], [code(3), code(4)], Ok(())),
            (
                [three.clone(), four.clone()],
                [code(4), code(3)],
                Err(CriteriaWeakening::ExitCode(4)),
            ),
            ([three.clone(), four], [three, code(4)], Err(CriteriaWeakening::ExitCode(4))),
        ] {
            assert_eq!(check_agent_change(&before, &after), expected, "{before:?} {after:?}");
        }
    }
}
