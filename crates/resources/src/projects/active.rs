//! Whether a project takes new work.

use cynode_store::Project;

use super::ProjectError;

/// Rejects new work in an inactive project.
pub fn require_active(project: &Project) -> Result<(), ProjectError> {
    if project.is_active {
        return Ok(());
    }
    let slug = &project.slug;
    Err(ProjectError::Invalid(vec![format!(
        "project \"{slug}\" takes no new tasks: activate it first with `cynork project update {slug} --active true`"
    )]))
}
