//! `help.get`

use std::future::ready;

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{HelpGet, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::parse_arguments;
use crate::tools::schema::result_schema;

/// Every topic with its text.
const TOPICS: [(&str, &str); 12] = [
    ("overview", include_str!("overview.md")),
    ("tasks", include_str!("tasks.md")),
    ("schedules", include_str!("schedules.md")),
    ("sandboxes", include_str!("sandboxes.md")),
    ("artifacts", include_str!("artifacts.md")),
    ("preferences", include_str!("preferences.md")),
    ("memory", include_str!("memory.md")),
    ("skills", include_str!("skills.md")),
    ("findings", include_str!("findings.md")),
    ("agents", include_str!("agents.md")),
    ("ids", include_str!("ids.md")),
    ("errors", include_str!("errors.md")),
];

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: HelpGet::NAME,
    title: "Get help",
    description: "What CyNode is and how to use its tools. Without a topic: an overview.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: HelpGet::input_schema,
    output,
    run: |context, arguments| {
        Box::pin(ready(parse_arguments(arguments).and_then(|call| run(&context, call))))
    },
};

fn output() -> Value {
    result_schema(&["topic", "markdown"])
}

fn run(context: &ToolContext, arguments: HelpGet) -> Result<Value, ToolFault> {
    let HelpGet { topic, .. } = arguments;
    let topic = topic.unwrap_or_else(|| "overview".to_owned());
    let found = TOPICS.iter().find(|(name, _)| *name == topic);
    let (name, text) = found.ok_or_else(|| {
        let names: Vec<_> = TOPICS.iter().map(|(name, _)| *name).collect();
        ToolFault::not_found(format!("unknown topic; the topics are: {}", names.join(", ")))
    })?;
    let caller = context.identity.agent;
    Ok(json!({ "topic": name, "markdown": format!("{text}\n\nYou call as `{caller}`.\n") }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cynode_domain::policy::ErrorKind;

    use super::*;

    #[test]
    fn every_family_of_tools_is_named_in_some_topic() {
        let whole: String = TOPICS.iter().map(|(_, text)| *text).collect();
        let family = |name: &str| match name.rsplit_once('.') {
            Some((family, _)) => format!("{family}."),
            None => "apmas_".to_owned(),
        };
        let families: BTreeSet<_> =
            crate::tools::all().iter().map(|tool| family(tool.name)).collect();
        let missing: Vec<_> =
            families.into_iter().filter(|family| !whole.contains(family)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_topic_of_errors_names_exactly_the_kinds_that_there_are() {
        let (_, text) = TOPICS.into_iter().find(|(name, _)| *name == "errors").unwrap();
        let items = text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
        let told: BTreeSet<_> = items
            .flat_map(|(kinds, _)| kinds.split(", "))
            .map(|kind| kind.trim_matches('`'))
            .collect();
        let real: BTreeSet<_> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(told, real);
    }

    #[test]
    fn the_overview_and_the_schema_name_every_topic() {
        let (_, overview) = TOPICS[0];
        let schema = HelpGet::input_schema().to_string();
        for (name, _) in &TOPICS[1..] {
            assert!(overview.contains(&format!("`{name}`")) && schema.contains(name), "{name}");
        }
    }
}
