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
    #[error("an agent does not choose which exit code is demanded: leave exit_code {0} out")]
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
    let code = added.iter().find_map(|criterion| {
        let Criterion::ExitCode { equals } = criterion else { return None };
        Some(*equals)
    });
    code.map_or(Ok(()), |equals| Err(Weakening::ExitCode(equals)))
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
}
