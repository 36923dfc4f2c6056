//! The `[gateway]` section of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use cynode_runtime::config::{ConfigFault, ConfigSection};
use serde::{Deserialize, Serialize};

use crate::tools::handlers::find_name_fault;

/// Options of the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayOptions {
    /// Host names under which clients may reach the gateway, beside the loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Web origins whose pages may reach the gateway, beside the loopback ones.
    pub allowed_origins: Vec<String>,
    /// The URL that clients use, if a proxy is in front of the gateway.
    pub public_url: Option<String>,
    /// Largest request body.
    pub max_request_bytes: u64,
    /// Largest tool response.
    pub max_response_bytes: u64,
    /// Time limit of a tool call, in milliseconds.
    pub call_timeout_ms: u64,
    /// Sustained request rate per token.
    pub requests_per_second: u32,
    /// Request burst per token.
    pub request_burst: u32,
    /// Concurrent calls per server.
    pub calls_per_server: u32,
    pub sessions_per_token: u32,
    /// Open sessions of one user, with all tokens; beyond it, the least recently used ends.
    pub sessions_per_user: u32,
    /// Sessions in total.
    pub sessions: u32,
    /// Idle time after which a session is closed, in seconds.
    pub session_idle_seconds: u64,
    /// Tools per page of a list.
    pub page_size: u32,
    /// Host paths that stdio servers may read, beyond the system's own.
    pub expose: Vec<PathBuf>,
    /// Names of the tool handlers to offer, such as `cuga.modular.tools.text.diff`; all when absent.
    pub tool_handlers: Option<Vec<String>>,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: vec![],
            allowed_origins: vec![],
            public_url: None,
            max_request_bytes: 1024 * 1024,
            max_response_bytes: 4 * 1024 * 1024,
            call_timeout_ms: 30_000,
            requests_per_second: 20_000,
            request_burst: 20_000,
            calls_per_server: 256,
            sessions_per_token: 64,
            sessions_per_user: 512,
            sessions: 10_000,
            session_idle_seconds: 1800,
            // Every built-in tool and those of some servers: not every client asks for a second page.
            page_size: 250,
            expose: vec![],
            tool_handlers: None,
        }
    }
}

impl GatewayOptions {
    pub fn call_timeout(&self) -> Duration {
        Duration::from_millis(self.call_timeout_ms)
    }
}

impl ConfigSection for GatewayOptions {
    const NAME: &'static str = "gateway";

    fn validate(&self) -> Vec<ConfigFault> {
        let mut faults = vec![];
        let mut bound = |key: &str, value: u64, low: u64, high: u64| {
            if !(low..=high).contains(&value) {
                faults.push(ConfigFault::new(
                    format!("gateway.{key}"),
                    value,
                    format!("{low} to {high}"),
                ));
            }
        };
        bound("max_request_bytes", self.max_request_bytes, 1024, 64 << 20);
        bound("max_response_bytes", self.max_response_bytes, 1024, 256 << 20);
        bound("call_timeout_ms", self.call_timeout_ms, 1, 3_600_000);
        bound("requests_per_second", self.requests_per_second.into(), 1, 1_000_000);
        bound("request_burst", self.request_burst.into(), 1, 1_000_000);
        bound("calls_per_server", self.calls_per_server.into(), 1, 100_000);
        bound("sessions_per_token", self.sessions_per_token.into(), 1, 10_000);
        bound("sessions_per_user", self.sessions_per_user.into(), 1, 100_000);
        bound("sessions", self.sessions.into(), 1, 1_000_000);
        bound("session_idle_seconds", self.session_idle_seconds, 1, 604_800);
        bound("page_size", self.page_size.into(), 1, 1000);
        for name in self.tool_handlers.iter().flatten() {
            if let Some(allowed) = find_name_fault(name) {
                let text = format!("{name:?}");
                faults.push(ConfigFault::new("gateway.tool_handlers", text, allowed));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_gateway_options_have_no_fault() {
        assert_eq!(GatewayOptions::default().validate().len(), 0);
    }

    #[test]
    fn a_handler_that_is_unknown_or_outside_of_the_namespace_is_refused_at_start() {
        let names = ["cuga.modular.tools.text.diff", "cuga.modular.tools.text.shout", "os.system"];
        let tool_handlers = Some(names.map(str::to_owned).to_vec());
        let options = GatewayOptions { tool_handlers, ..GatewayOptions::default() };

        let faults: Vec<_> = options.validate().iter().map(ToString::to_string).collect();

        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults[0].contains("text.shout") && faults[0].contains("cuga.modular.tools.text.diff")
        );
        assert!(faults[1].contains("os.system") && faults[1].contains("a handler is named"));
    }

    #[test]
    fn every_gateway_option_out_of_range_is_named() {
        let options = GatewayOptions { page_size: 0, sessions: 0, ..GatewayOptions::default() };

        let faults: Vec<_> = options.validate().iter().map(ToString::to_string).collect();

        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults.iter().any(|fault| fault.contains("gateway.page_size is 0")), "{faults:?}");
    }
}
