//! Parameters of the tool handlers, `cuga.modular.tools.*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;

/// The longest text of a handler, in characters.
const MAX_TEXT_CHARS: usize = 200_000;
const MAX_EXPRESSION_CHARS: usize = 1_000;
const MAX_DATE_CHARS: usize = 40;
const MAX_POINTER_CHARS: usize = 1_000;
const MAX_ADDRESS_CHARS: usize = 2_048;
const MAX_CONTEXT_LINES: usize = 100;

tool_calls! {
    DateAdd => "cuga.modular.tools.date.add",
    DateBetween => "cuga.modular.tools.date.between",
    JsonExtract => "cuga.modular.tools.json.extract",
    MathEvaluate => "cuga.modular.tools.math.evaluate",
    TableFromCsv => "cuga.modular.tools.table.from_csv",
    TextDiff => "cuga.modular.tools.text.diff",
    TextStatistics => "cuga.modular.tools.text.statistics",
    WebJson => "cuga.modular.tools.web.json",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DateAdd {
    /// A date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.
    #[schemars(length(min = 1, max = MAX_DATE_CHARS))]
    pub date: String,
    /// Months to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub months: Option<i32>,
    /// Days to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<i32>,
    /// Hours to add to a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<i32>,
    /// Minutes to add to a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<i32>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DateBetween {
    /// A date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.
    #[schemars(length(min = 1, max = MAX_DATE_CHARS))]
    pub from: String,
    /// Of the same form as `from`.
    #[schemars(length(min = 1, max = MAX_DATE_CHARS))]
    pub to: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonExtract {
    /// The document, as text.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub document: String,
    /// Where the part is, such as /items/0; empty for the whole document.
    #[schemars(length(max = MAX_POINTER_CHARS))]
    pub pointer: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MathEvaluate {
    /// Such as (1 + 2) * 3.
    #[schemars(length(min = 1, max = MAX_EXPRESSION_CHARS))]
    pub expression: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableFromCsv {
    /// The values; the first line names the columns.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub csv: String,
    /// The character between fields; a comma when absent.
    #[schemars(length(min = 1, max = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextDiff {
    /// The first text.
    #[schemars(length(max = MAX_TEXT_CHARS))]
    pub before: String,
    /// The second text.
    #[schemars(length(max = MAX_TEXT_CHARS))]
    pub after: String,
    /// Unchanged lines around a change; 3 when absent.
    #[schemars(range(max = MAX_CONTEXT_LINES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_lines: Option<usize>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextStatistics {
    /// The text.
    #[schemars(length(max = MAX_TEXT_CHARS))]
    pub text: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebJson {
    /// The address, with `http://` or `https://`.
    #[schemars(length(min = 1, max = MAX_ADDRESS_CHARS))]
    pub url: String,
    /// Where the part is, such as /items/0; the whole document when absent.
    #[schemars(length(max = MAX_POINTER_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}
