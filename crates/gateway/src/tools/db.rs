//! Tasks, jobs, projects and settings.

mod job_get;
mod job_list;
mod project_create;
mod project_get;
mod project_list;
mod setting_write;
mod system_setting_create;
mod system_setting_delete;
mod system_setting_get;
mod system_setting_list;
mod system_setting_update;
mod task_cancel;
mod task_create;
mod task_get;
mod task_list;
mod task_logs;
mod task_result;

use super::Builtin;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 16] {
    [
        job_get::TOOL,
        job_list::TOOL,
        project_create::TOOL,
        project_get::TOOL,
        project_list::TOOL,
        system_setting_create::TOOL,
        system_setting_delete::TOOL,
        system_setting_get::TOOL,
        system_setting_list::TOOL,
        system_setting_update::TOOL,
        task_cancel::TOOL,
        task_create::TOOL,
        task_get::TOOL,
        task_list::TOOL,
        task_logs::TOOL,
        task_result::TOOL,
    ]
}
