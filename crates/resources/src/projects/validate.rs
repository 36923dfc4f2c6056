//! Checks the address of a repository before work on it is created.

use cynode_domain::git::RepositoryUrl;
use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::repository_access::RepositoryAction;
use cynode_domain::policy::rules::RuleVerdict;
use cynode_wire::projects::RepositoryReport;

use super::{ProjectError, Projects, find};
use crate::{Caller, RepositoryCheck};

impl Projects {
    /// Checks whether an address is valid, which actions the rules allow the caller there, and whether it is the repository
    /// of the project; of the caller's default project if none is named. Makes no connection.
    pub async fn validate_repository(
        &self,
        caller: &Caller,
        project: Option<ProjectId>,
        address: String,
    ) -> Result<RepositoryReport, ProjectError> {
        let url = match RepositoryUrl::try_from(address) {
            Ok(url) => url,
            Err(error) => {
                let fault = Some(error.to_string());
                return Ok(RepositoryReport { fault, ..RepositoryReport::default() });
            }
        };
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match project {
                        Some(id) => Some(find(tx, &caller, &NameOrId::Id(id)).await?),
                        None => tx.project_default(caller.user).await?,
                    };
                    let id = project.as_ref().map(|project| project.id);
                    let forges = match id {
                        Some(id) => tx.forge_list(id).await?,
                        None => vec![],
                    };
                    let mut report = RepositoryReport {
                        is_valid: true,
                        resource: Some(url.resource_name()),
                        is_of_project: project
                            .and_then(|project| project.repository)
                            .is_some_and(|repository| repository.url == url),
                        has_forge: forges.iter().any(|forge| forge.repository == url),
                        ..RepositoryReport::default()
                    };
                    for action in RepositoryAction::ALL {
                        let check = RepositoryCheck {
                            action: *action,
                            url: url.clone(),
                            user: caller.user,
                            project: id,
                            task: None,
                        };
                        let verdict = check.decide(tx).await?;
                        let may = match action {
                            RepositoryAction::Clone => &mut report.may_clone,
                            RepositoryAction::Push => &mut report.may_push,
                        };
                        *may = verdict.is_allowed();
                        report.rules.extend(match verdict {
                            RuleVerdict::Allowed(rule) | RuleVerdict::Denied(rule) => Some(rule),
                            RuleVerdict::NoMatch => None,
                        });
                    }
                    report.rules.dedup();
                    Ok(report)
                })
            })
            .await
    }
}
