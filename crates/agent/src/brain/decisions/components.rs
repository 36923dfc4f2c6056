//! Decision: the components of a piece of work.

use cynode_domain::work::{WorkComponent, order_components};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{WorkKind, WorkScope, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// The most components of a decomposition.
const MAX_COMPONENTS: usize = 12;

/// Splits work into components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentifyComponents {
    pub request: String,
    pub kind: WorkKind,
    pub scope: WorkScope,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentifiedComponents {
    pub components: Vec<WorkComponent>,
}

impl IdentifyComponents {
    /// All of it as one component.
    pub fn single_component(&self) -> IdentifiedComponents {
        let first_line = self.request.lines().next().unwrap_or_default();
        let component = WorkComponent {
            name: "main".to_owned(),
            description: first_line.chars().take(500).collect(),
            priority: 0,
            dependencies: vec![],
            skip_design: false,
            skip_review: false,
            units: vec![],
        };
        IdentifiedComponents { components: vec![component] }
    }
}

impl BrainDecision for IdentifyComponents {
    type Answer = IdentifiedComponents;

    const PURPOSE: &'static str = "identify_components";
    const HINT: &'static str = "strong";

    fn schema(&self) -> Value {
        let component = object_schema(&json!({
            "name": { "type": "string", "pattern": "^[a-z0-9-]{1,64}$" },
            "description": text_schema("What it is.", 1000),
            "priority": { "type": "integer", "minimum": -100, "maximum": 100, "description": "Lowest first." },
            "dependencies": { "type": "array", "items": { "type": "string" }, "maxItems": MAX_COMPONENTS },
            "skipDesign": { "type": "boolean", "description": "It has no user interface." },
            "skipReview": { "type": "boolean", "description": "It needs no review." },
        }));
        object_schema(&json!({
            "components": {
                "type": "array", "items": component, "minItems": 1, "maxItems": MAX_COMPONENTS,
            },
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        let (kind, scope) = (self.kind.as_str(), self.scope.as_str());
        format!(
            "Split this work ({kind}, {scope}) into components that can be built in sequence or in \
             parallel, usually two to six. A component names the components that must be \
             finished before it.\n\n{request}"
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<IdentifiedComponents>> {
        (self.scope <= WorkScope::Small)
            .then(|| RuleAnswer::new(self.single_component(), "one component: the work is small"))
    }

    fn fallback(&self) -> RuleAnswer<IdentifiedComponents> {
        RuleAnswer::new(self.single_component(), "one component for all of it")
    }

    fn find_objection(&self, answer: &IdentifiedComponents) -> Option<String> {
        order_components(&answer.components).err().map(|faults| faults.join("; "))
    }

    fn summarize(answer: &IdentifiedComponents) -> String {
        let names: Vec<_> = answer.components.iter().map(|part| part.name.as_str()).collect();
        format!("{} components: {}", names.len(), names.join(", "))
    }
}
