//! Validates the report of a model that believes the goal is met.

use cynode_domain::criteria::Criterion;
use cynode_wire::agent_jobs::CriterionEvidence;
use serde_json::Value;

use crate::action::{EvidenceItem, FinishReport};

/// Returns the evidence with the indexes of its criteria; the error is written for the model.
pub(crate) fn resolve_evidence(
    report: &FinishReport,
    criteria: &[Criterion],
) -> Result<Vec<CriterionEvidence>, String> {
    let mut evidence = Vec::new();
    for item in &report.evidence {
        let criterion = find_criterion(item, criteria).ok_or_else(|| match criteria.len() {
            0 => "finish: there are no criteria, so evidence must be []".to_owned(),
            count => format!(
                "finish: criterion {} does not exist; the criteria are 0 to {}",
                item.criterion,
                count - 1
            ),
        })?;
        evidence.push(CriterionEvidence { criterion, evidence: item.evidence.clone() });
    }
    Ok(evidence)
}

/// Returns the criteria without evidence that only the model can give.
pub(crate) fn missing_evidence(
    evidence: &[CriterionEvidence],
    criteria: &[Criterion],
) -> Vec<usize> {
    let has_evidence = |index: &usize| {
        evidence.iter().any(|it| it.criterion == *index && !it.evidence.trim().is_empty())
    };
    (0..criteria.len())
        .filter(|index| !matches!(criteria[*index], Criterion::CommandSucceeds { .. }))
        .filter(|index| !has_evidence(index))
        .collect()
}

/// Finds a criterion by its number or its text.
fn find_criterion(item: &EvidenceItem, criteria: &[Criterion]) -> Option<usize> {
    let index = match &item.criterion {
        Value::Number(number) => usize::try_from(number.as_u64()?).ok()?,
        Value::String(text) => {
            let text = text.trim();
            let number = text.trim_matches(['[', ']']).parse().ok();
            number.or_else(|| criteria.iter().position(|it| it.to_string() == text))?
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (index < criteria.len()).then_some(index)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn criteria() -> Vec<Criterion> {
        vec![
            Criterion::Text { description: "it works".to_owned() },
            Criterion::CommandSucceeds { command: "true".to_owned() },
        ]
    }

    fn report(criterion: Value) -> FinishReport {
        let item = EvidenceItem { criterion, evidence: "seen".to_owned() };
        FinishReport { summary: "done".to_owned(), evidence: vec![item] }
    }

    #[test]
    fn a_criterion_is_named_by_number_or_text() {
        for name in [json!(0), json!("0"), json!("[0]"), json!("it works")] {
            let evidence = resolve_evidence(&report(name), &criteria()).unwrap();
            assert_eq!(evidence[0].criterion, 0);
            assert_eq!(missing_evidence(&evidence, &criteria()), [0; 0]);
        }
    }

    #[test]
    fn an_unknown_criterion_is_an_error_that_names_the_known_ones() {
        for name in [json!(2), json!("else"), json!(-1), json!(null)] {
            let fault = resolve_evidence(&report(name), &criteria()).unwrap_err();
            assert!(fault.contains("the criteria are 0 to 1"), "{fault}");
        }
        assert!(resolve_evidence(&report(json!(0)), &[]).unwrap_err().contains("[]"));
    }

    #[test]
    fn criteria_without_evidence_are_found_unless_a_command_checks_them() {
        assert_eq!(missing_evidence(&[], &criteria()), [0]);
    }
}
