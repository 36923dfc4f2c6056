//! `apmas_get_work_status`

use crate::tools::{Builtin, db};

/// How far a plan is, under the name that agents know.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_get_work_status",
    title: "See how far the work is",
    ..db::WORK_UNIT_LIST
};
