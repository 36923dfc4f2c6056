//! Work units: the pieces of a task that are routed from role to role.
//!
//! A plan lists components; each has units of the [`UnitKind`]s that [`WorkComponent::kinds`] returns. Units
//! start in the order of [`UnitKind::waits_for`]: implementation after specification and design, review
//! and test together after implementation. The transitions of a unit are in
//! [`crate::status::WorkUnitStatus`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::{MAX_ITEMS, MAX_LINE_BYTES, MAX_TEXT_BYTES};

/// Limit of revisions per unit; after that the plan continues with notes, or the unit fails.
pub const MAX_REVISIONS: u32 = 2;
/// Limit of components per plan.
pub const MAX_COMPONENTS: usize = 50;
/// The longest name of a component.
pub const MAX_NAME_BYTES: usize = 64;

words! {
    /// The kinds of work units, in processing order.
    UnitKind("work unit kind") {
        /// Specification.
        Spec = "spec",
        /// Design.
        Design = "design",
        /// Implementation.
        Implementation = "implementation",
        /// Review of the implementation.
        Review = "review",
        /// Test of the implementation.
        Test = "test",
    }
}

impl UnitKind {
    /// Prefix of unit ids.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Design => "design",
            Self::Implementation => "impl",
            Self::Review => "review",
            Self::Test => "test",
        }
    }

    /// The role that works on it.
    pub const fn role(self) -> &'static str {
        match self {
            Self::Spec => "architect",
            Self::Design => "designer",
            Self::Implementation => "developer",
            Self::Review => "reviewer",
            Self::Test => "tester",
        }
    }

    /// The id of the component's unit of this kind.
    pub fn unit_id(self, component: &str) -> String {
        format!("{}:{component}", self.prefix())
    }

    /// The kinds, of those present, that must be approved first.
    pub fn waits_for(self, present: &[Self]) -> Vec<Self> {
        let wanted: &[Self] = match self {
            Self::Spec => &[],
            Self::Design => &[Self::Spec],
            Self::Implementation => &[Self::Spec, Self::Design],
            Self::Review | Self::Test => {
                if !present.contains(&Self::Implementation) {
                    return Self::Implementation.waits_for(present);
                }
                &[Self::Implementation]
            }
        };
        wanted.iter().copied().filter(|kind| present.contains(kind)).collect()
    }

    /// The kind whose result it builds on, if the component has it.
    pub fn parent(self, present: &[Self]) -> Option<Self> {
        self.waits_for(present).first().copied()
    }
}

/// A part of the project that a plan changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkComponent {
    /// Lowercase letters, digits and dashes; unique in the plan.
    #[schemars(length(min = 1, max = MAX_NAME_BYTES))]
    pub name: String,
    /// A description of the component.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub description: String,
    /// Of the components that can start, the lowest number goes first; 0 when absent.
    #[serde(default)]
    pub priority: i32,
    /// Components that must be completed first.
    #[schemars(length(max = MAX_ITEMS), inner(length(max = MAX_LINE_BYTES)))]
    #[serde(default)]
    pub dependencies: Vec<String>,
    #[serde(default)]
    pub skip_design: bool,
    #[serde(default)]
    pub skip_review: bool,
    /// Exactly these kinds of units, instead of the default ones.
    #[schemars(extend("uniqueItems" = true))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitKind>,
}

impl WorkComponent {
    /// The kinds of its units, in processing order.
    pub fn kinds(&self) -> Vec<UnitKind> {
        let is_wanted = |kind: &UnitKind| match kind {
            _ if !self.units.is_empty() => self.units.contains(kind),
            UnitKind::Design => !self.skip_design,
            UnitKind::Review => !self.skip_review,
            UnitKind::Spec | UnitKind::Implementation | UnitKind::Test => true,
        };
        UnitKind::ALL.iter().copied().filter(is_wanted).collect()
    }

    fn validation_errors(&self) -> Vec<String> {
        let mut faults = vec![];
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(1..=MAX_NAME_BYTES).contains(&self.name.len()) || !self.name.chars().all(is_name) {
            faults.push(format!(
                "\"{}\" is not a valid component name: use 1 to {MAX_NAME_BYTES} lowercase letters, digits and dashes",
                self.name.escape_debug()
            ));
        }
        if !self.units.is_empty() && (self.skip_design || self.skip_review) {
            faults.push(format!("component {} sets both units and a skip flag", self.name));
        }
        faults
    }
}

/// Orders the components by dependency and priority, or returns every validation error.
pub fn order_components(components: &[WorkComponent]) -> Result<Vec<&WorkComponent>, Vec<String>> {
    if components.is_empty() || components.len() > MAX_COMPONENTS {
        return Err(vec![format!("a plan has 1 to {MAX_COMPONENTS} components")]);
    }
    let mut faults: Vec<String> =
        components.iter().flat_map(WorkComponent::validation_errors).collect();
    let mut by_name = BTreeMap::new();
    for component in components {
        if by_name.insert(component.name.as_str(), component).is_some() {
            faults.push(format!("there are two components \"{}\"", component.name));
        }
    }
    for component in components {
        for needed in &component.dependencies {
            if !by_name.contains_key(needed.as_str()) {
                let name = &component.name;
                faults.push(format!("{name} depends on \"{needed}\", which is not a component"));
            }
        }
    }
    if faults.is_empty() {
        topological_sort(components).map_err(|fault| vec![fault])
    } else {
        Err(faults)
    }
}

/// Topological sort, by priority among the components that can start.
fn topological_sort(components: &[WorkComponent]) -> Result<Vec<&WorkComponent>, String> {
    let mut left: Vec<_> = components.iter().collect();
    left.sort_by_key(|component| component.priority);
    let mut done: Vec<&WorkComponent> = vec![];
    while !left.is_empty() {
        let is_done = |name: &String| done.iter().any(|taken| taken.name == *name);
        let next = left.iter().position(|part| part.dependencies.iter().all(is_done));
        let Some(next) = next else {
            let names: Vec<_> = left.iter().map(|component| component.name.as_str()).collect();
            return Err(format!("these components wait for each other: {}", names.join(", ")));
        };
        done.push(left.remove(next));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::subsequence;

    use super::*;

    fn component(name: &str, dependencies: &[&str]) -> WorkComponent {
        WorkComponent {
            name: name.to_owned(),
            description: String::new(),
            priority: 0,
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            skip_design: false,
            skip_review: false,
            units: vec![],
        }
    }

    fn names(components: &[WorkComponent]) -> Result<Vec<String>, Vec<String>> {
        order_components(components).map(|order| order.iter().map(|c| c.name.clone()).collect())
    }

    #[test]
    fn components_come_after_what_they_depend_on_and_by_priority() {
        let urgent = WorkComponent { priority: -1, ..component("urgent", &[]) };
        let plan = [component("ui", &["api"]), component("api", &[]), urgent];

        assert_eq!(names(&plan).unwrap(), ["urgent", "api", "ui"]);
    }

    #[test]
    fn a_plan_that_cannot_be_done_is_refused_in_words() {
        let circle = [component("a", &["b"]), component("b", &["a"]), component("c", &[])];
        let unknown = [component("a", &["z"]), component("a", &[]), component("B!", &[])];

        assert_eq!(names(&circle).unwrap_err(), ["these components wait for each other: a, b"]);
        assert_eq!(names(&unknown).unwrap_err().len(), 3);
        assert_eq!(names(&[]).unwrap_err(), ["a plan has 1 to 50 components"]);
        assert!(names(&[component("a", &["a"])]).is_err());
    }

    #[test]
    fn a_component_has_the_usual_units_unless_it_says_otherwise() {
        let usual = component("a", &[]);
        let lean = WorkComponent { skip_design: true, skip_review: true, ..usual.clone() };
        let fix = WorkComponent { units: vec![UnitKind::Implementation], ..usual.clone() };

        assert_eq!(usual.kinds(), UnitKind::ALL);
        assert_eq!(lean.kinds(), [UnitKind::Spec, UnitKind::Implementation, UnitKind::Test]);
        assert_eq!(fix.kinds(), [UnitKind::Implementation]);
        assert_eq!(UnitKind::Implementation.unit_id("auth"), "impl:auth");
    }

    #[test]
    fn review_and_test_open_together_after_the_implementation() {
        let all = UnitKind::ALL;

        assert_eq!(UnitKind::Review.waits_for(all), [UnitKind::Implementation]);
        assert_eq!(UnitKind::Test.waits_for(all), [UnitKind::Implementation]);
        assert_eq!(UnitKind::Implementation.waits_for(all), [UnitKind::Spec, UnitKind::Design]);
        assert_eq!(UnitKind::Implementation.parent(all), Some(UnitKind::Spec));
    }

    proptest! {
        #[test]
        fn whatever_units_a_component_has_can_be_done_one_after_the_other(
            present in subsequence(UnitKind::ALL, 1..=5)
        ) {
            for (index, kind) in present.iter().enumerate() {
                for needed in kind.waits_for(&present) {
                    prop_assert!(present[..index].contains(&needed));
                }
            }
        }
    }
}
