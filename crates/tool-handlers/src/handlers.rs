//! The table of handlers, one file each.

mod csv_table;
mod date_arithmetic;
mod evaluate;
mod json_extract;
mod text_diff;
mod text_statistics;
mod web_json;

use crate::ToolHandler;

/// Every handler.
pub const HANDLERS: &[ToolHandler] = &[
    date_arithmetic::ADD,
    date_arithmetic::BETWEEN,
    json_extract::HANDLER,
    evaluate::HANDLER,
    csv_table::HANDLER,
    text_diff::HANDLER,
    text_statistics::HANDLER,
    web_json::HANDLER,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cynode_domain::ids::TraceId;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        HandlerContext, HandlerError, HandlerName, HandlerResult, NetworkUse, call_handler,
    };

    pub(super) async fn call(name: &str, inputs: Value) -> HandlerResult {
        let context = HandlerContext { profile: None, trace: TraceId::generate(), fetch: None };
        call_handler(&format!("cuga.modular.tools.{name}"), inputs, context).await
    }

    #[test]
    fn every_handler_is_in_the_namespace_once_and_declares_its_parameters() {
        let names: BTreeSet<&str> = HANDLERS.iter().map(|handler| handler.name).collect();
        assert_eq!(names.len(), HANDLERS.len());
        for handler in HANDLERS {
            assert!(handler.name.parse::<HandlerName>().is_ok(), "{}", handler.name);
            let schema = (handler.parameters)();
            assert_eq!(schema["additionalProperties"], false, "{}", handler.name);
            assert!(schema["properties"].as_object().is_some_and(|it| !it.is_empty()));
        }
    }

    #[tokio::test]
    async fn undeclared_missing_and_mistyped_inputs_are_rejected() {
        for handler in HANDLERS.iter().filter(|handler| handler.network == NetworkUse::None) {
            let name = handler.name.trim_start_matches("cuga.modular.tools.");
            for odd in [json!({ "surprise": 1 }), json!({}), json!([]), json!("text"), json!(null)]
            {
                let outcome = call(name, odd.clone()).await;
                assert!(
                    matches!(outcome, Err(HandlerError::Inputs(_))),
                    "{name} {odd}: {outcome:?}"
                );
            }
        }
    }

    #[tokio::test]
    async fn unknown_names_and_names_of_other_namespaces_are_not_called() {
        assert!(matches!(call("text.shout", json!({})).await, Err(HandlerError::Unknown(_))));
        let context = HandlerContext { profile: None, trace: TraceId::generate(), fetch: None };
        let other = call_handler("os.system", json!({ "command": "true" }), context).await;
        assert!(matches!(other, Err(HandlerError::Name(_))));
    }
}
