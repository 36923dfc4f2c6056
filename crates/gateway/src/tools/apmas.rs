//! `apmas_*`: messages between agents and the project manager, and the work units they exchange.
//!
//! Agents report; only the project manager instructs, plans and routes. The names of these tools
//! and of their arguments are an established interface of agents.

mod checkpoint;
mod complete;
mod create_plan;
mod get_context;
mod get_work_status;
mod heartbeat;
mod pm_instruct;
mod report_status;
mod report_to_pm;
mod request_help;
mod route_work;
mod send_message;
mod submit_work;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 13] {
    [
        checkpoint::TOOL,
        complete::TOOL,
        create_plan::TOOL,
        get_context::TOOL,
        get_work_status::TOOL,
        heartbeat::TOOL,
        pm_instruct::TOOL,
        report_status::TOOL,
        report_to_pm::TOOL,
        request_help::TOOL,
        route_work::TOOL,
        send_message::TOOL,
        submit_work::TOOL,
    ]
}
