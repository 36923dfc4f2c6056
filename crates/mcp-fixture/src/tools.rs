//! The tools: listing and dispatch of calls.
//!
//! [`list_tools`] is the catalogue; the tools that send requests to the client are in [`client_requests`].

mod catalogue;
mod client_requests;
mod standalone;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, ErrorCode};

use crate::content;
use crate::exchange::FixtureExchange;

pub(crate) use catalogue::list_tools;

/// Calls a tool.
pub(crate) async fn call_tool(
    exchange: &FixtureExchange<'_>,
    name: &str,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(result) = standalone::call_tool(exchange, name).await {
        return Ok(result.into());
    }
    match client_requests::call_tool(exchange, name).await {
        // Reported as a tool result, because the older era has no error code for it.
        Err(error)
            if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
                && !exchange.is_stateless() =>
        {
            Ok(content::error_result(error.message).into())
        }
        outcome => outcome,
    }
}
