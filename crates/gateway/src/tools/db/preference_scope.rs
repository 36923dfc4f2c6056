//! Shared by the tools that change preferences.

use cynode_domain::policy::ErrorKind;

use crate::tools::ToolContext;
use crate::tools::ToolFault;

/// Prefix of preferences about verification.
const VERIFICATION: &str = "verification.";

/// Rejects changes by an agent to preferences about verification: only people set acceptance rules.
pub(super) fn check_may_change(context: &ToolContext, key: &str) -> Result<(), ToolFault> {
    if key.starts_with(VERIFICATION) && context.identity.agent.agent().is_some() {
        let rule = format!("only a person may change preferences that begin with {VERIFICATION}");
        return Err(ToolFault::new(ErrorKind::Forbidden, rule));
    }
    Ok(())
}
