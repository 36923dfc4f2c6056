//! `db.*`: tasks, runs, jobs, projects, schedules, preferences, findings and settings.

mod agent_profile_list;
mod finding_create;
mod finding_get;
mod finding_list;
mod job_get;
mod job_list;
mod job_update_status;
mod message_get;
mod message_list;
mod message_mark_processed;
mod preference_create;
mod preference_delete;
mod preference_effective;
mod preference_get;
mod preference_list;
mod preference_scope;
mod preference_update;
mod profile_get;
mod profile_list;
mod project_create;
mod project_get;
mod project_list;
mod request_answer;
mod request_create;
mod request_get;
mod request_list;
mod run_answer;
mod run_get;
mod run_history;
mod run_list;
mod schedule_create;
mod schedule_delete;
mod schedule_get;
mod schedule_list;
mod schedule_make_tasks;
mod schedule_runs;
mod schedule_scope;
mod schedule_update;
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
mod task_update;
mod task_update_status;
mod trace_get;
mod work_unit_get;
mod work_unit_list;

use super::BuiltinToolSpec;

pub(super) use work_unit_list::TOOL as WORK_UNIT_LIST;

pub(super) fn all() -> [BuiltinToolSpec; 52] {
    [
        agent_profile_list::TOOL,
        finding_create::TOOL,
        finding_get::TOOL,
        finding_list::TOOL,
        job_get::TOOL,
        job_list::TOOL,
        job_update_status::TOOL,
        message_get::TOOL,
        message_list::TOOL,
        message_mark_processed::TOOL,
        preference_create::TOOL,
        preference_delete::TOOL,
        preference_effective::TOOL,
        preference_get::TOOL,
        preference_list::TOOL,
        preference_update::TOOL,
        profile_get::TOOL,
        profile_list::TOOL,
        project_create::TOOL,
        project_get::TOOL,
        project_list::TOOL,
        request_answer::TOOL,
        request_create::TOOL,
        request_get::TOOL,
        request_list::TOOL,
        run_answer::TOOL,
        run_get::TOOL,
        run_history::TOOL,
        run_list::TOOL,
        schedule_create::TOOL,
        schedule_delete::TOOL,
        schedule_get::TOOL,
        schedule_list::TOOL,
        schedule_make_tasks::TOOL,
        schedule_runs::TOOL,
        schedule_update::TOOL,
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
        task_update::TOOL,
        task_update_status::TOOL,
        trace_get::TOOL,
        work_unit_get::TOOL,
        work_unit_list::TOOL,
    ]
}
