//! `sandbox.*`: access to the workspaces of tasks, for the project manager.

mod allowed_images_add;
mod allowed_images_list;
mod create;
mod destroy;
mod exec;
mod get_file;
mod put_file;
mod stream_logs;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 8] {
    [
        allowed_images_add::TOOL,
        allowed_images_list::TOOL,
        create::TOOL,
        destroy::TOOL,
        exec::TOOL,
        get_file::TOOL,
        put_file::TOOL,
        stream_logs::TOOL,
    ]
}
