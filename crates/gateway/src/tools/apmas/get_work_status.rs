//! `apmas_get_work_status`

use cynode_wire::tool_calls::{GetWorkStatus, ToolCall as _};

use crate::tools::BuiltinToolSpec;
use crate::tools::db;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: GetWorkStatus::NAME,
    title: "Get the progress of work",
    ..db::WORK_UNIT_LIST
};
