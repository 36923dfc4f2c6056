//! Which parts a piece of work has.

use cynode_domain::work::{WorkComponent, order};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Scope, WorkKind, object, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// More parts than this are no help to anybody.
const MAX_COMPONENTS: usize = 12;

/// Which parts does this have?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentifyComponents {
    /// The request.
    pub request: String,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// How big it is.
    pub scope: Scope,
}

/// The parts of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Components {
    /// The parts.
    pub components: Vec<WorkComponent>,
}

impl IdentifyComponents {
    fn whole(&self) -> Components {
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
        Components { components: vec![component] }
    }
}

impl Decision for IdentifyComponents {
    type Answer = Components;

    const PURPOSE: &'static str = "identify_components";
    const HINT: &'static str = "strong";

    fn schema(&self) -> Value {
        let component = object(&json!({
            "name": { "type": "string", "pattern": "^[a-z0-9-]{1,64}$" },
            "description": text("What it is.", 1000),
            "priority": { "type": "integer", "minimum": -100, "maximum": 100, "description": "The lowest goes first." },
            "dependencies": { "type": "array", "items": { "type": "string" }, "maxItems": MAX_COMPONENTS },
            "skipDesign": { "type": "boolean", "description": "Nothing of it is seen by people." },
            "skipReview": { "type": "boolean", "description": "It is too plain to be looked at." },
        }));
        object(&json!({
            "components": {
                "type": "array", "items": component, "minItems": 1, "maxItems": MAX_COMPONENTS,
            },
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        let (kind, scope) = (self.kind.as_str(), self.scope.as_str());
        format!(
            "Cut this work ({kind}, {scope}) into the components that can be built one after the other \
             or at the same time, two to six as a rule. A component names the components that must be \
             finished before it.\n\n{request}"
        )
    }

    fn by_rule(&self) -> Option<Ruling<Components>> {
        (self.scope <= Scope::Small)
            .then(|| Ruling::new(self.whole(), "one component: the work is small"))
    }

    fn fallback(&self) -> Ruling<Components> {
        Ruling::new(self.whole(), "one component for all of it")
    }

    fn objection(&self, answer: &Components) -> Option<String> {
        order(&answer.components).err().map(|faults| faults.join("; "))
    }

    fn summary(answer: &Components) -> String {
        let names: Vec<_> = answer.components.iter().map(|part| part.name.as_str()).collect();
        format!("{} components: {}", names.len(), names.join(", "))
    }
}
