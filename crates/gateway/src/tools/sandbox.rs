//! Reaching into workspaces of tasks; for the project manager.

mod allowed_images_list;
mod create;
mod destroy;
mod exec;
mod get_file;
mod put_file;
mod stream_logs;

use cynode_domain::ids::{JobId, TaskId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Builtin;
use super::schema::id;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 7] {
    [
        allowed_images_list::TOOL,
        create::TOOL,
        destroy::TOOL,
        exec::TOOL,
        get_file::TOOL,
        put_file::TOOL,
        stream_logs::TOOL,
    ]
}

/// The sandbox that a call is about.
#[derive(Deserialize)]
struct Place {
    task_id: TaskId,
    job_id: JobId,
}

impl Place {
    fn at(&self) -> (TaskId, JobId) {
        (self.task_id, self.job_id)
    }
}

/// The schema of a sandbox's `job_id`.
fn sandbox() -> Value {
    let mut schema = id("job");
    schema["description"] = json!("The sandbox, by the job_id that sandbox.create gave.");
    schema
}
