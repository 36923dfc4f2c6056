//! What every command is given.

use crate::out::CommandOutput;
use crate::resolved_settings::LocalInstance;
use crate::session::ApiSession;

/// State that every command uses.
pub struct CliContext {
    pub session: ApiSession,
    pub out: CommandOutput,
    /// The local `cynode up`, if one is running.
    pub local: Option<LocalInstance>,
}
