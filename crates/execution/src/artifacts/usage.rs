//! The bytes that the files of a user and of the user's projects take.

use cynode_wire::artifacts::{ProjectStorageView, StorageView};

use super::{ArtifactError, ArtifactService};
use cynode_resources::Caller;

/// How many projects are listed.
const PROJECTS: u32 = 200;

impl ArtifactService {
    /// Returns the caller's own usage and limits.
    pub async fn usage(&self, caller: &Caller) -> Result<StorageView, ArtifactError> {
        let user = caller.user;
        let (used_bytes, projects) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let (held_bytes, _) = tx.storage_held(user, None).await?;
                    let projects = tx.storage_by_project(user, PROJECTS).await?;
                    Ok::<_, ArtifactError>((held_bytes, projects))
                })
            })
            .await?;
        let projects = projects.into_iter().map(|project| ProjectStorageView {
            id: project.project,
            slug: project.slug,
            used_bytes: project.held_bytes,
            limit_bytes: self.limits.project_bytes,
        });
        Ok(StorageView {
            handle: caller.handle.clone(),
            used_bytes,
            limit_bytes: self.limits.user_bytes,
            projects: projects.collect(),
        })
    }
}
