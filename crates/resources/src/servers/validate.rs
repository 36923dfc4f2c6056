//! Validation of server installations.

use cynode_domain::ids::ServerId;
use cynode_domain::name::Slug;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::policy::allowlist::is_reserved_namespace;
use cynode_domain::policy::network::{is_internal_name, is_public};
use cynode_store::{ServerSecrets, ServerTransport};
use cynode_wire::servers::{InstallServer, Transport};
use url::{Host, Url};

use crate::Caller;
use crate::tools::ToolError;

const MAX_ARGS: usize = 64;
const MAX_VALUES: usize = 64;
const MAX_VALUE_BYTES: usize = 16 * 1024;

pub(super) fn validate_install(
    caller: &Caller,
    request: &InstallServer,
) -> Result<ServerTransport, ToolError> {
    let mut faults = transport_faults(&request.transport);
    faults.extend(slug_faults(&request.slug));
    if !faults.is_empty() {
        return Err(ToolError::Invalid(faults));
    }
    validate_transport(caller, &request.transport)
}

pub(super) fn validate_slug(slug: &str) -> Result<(), ToolError> {
    let faults = slug_faults(slug);
    if faults.is_empty() { Ok(()) } else { Err(ToolError::Invalid(faults)) }
}

fn slug_faults(slug: &str) -> Vec<String> {
    let mut faults = vec![];
    // A name in the form of an id would be taken for one.
    let is_id = slug.parse::<ServerId>().is_ok();
    let is_plain = Slug::normalise(slug).is_ok_and(|plain| plain.as_str() == slug);
    if is_id || !is_plain {
        faults.push("slug may contain only lowercase letters, digits and single dashes".to_owned());
    }
    if is_reserved_namespace(slug) {
        faults.push(format!("the slug \"{slug}\" belongs to built-in tools"));
    }
    faults
}

pub(super) fn validate_transport(
    caller: &Caller,
    transport: &Transport,
) -> Result<ServerTransport, ToolError> {
    let mut faults = transport_faults(transport);
    if !caller.is_admin {
        faults.extend(network_fault(transport));
    }
    if !faults.is_empty() {
        return Err(ToolError::Invalid(faults));
    }
    Ok(match transport.clone() {
        Transport::Stdio { command, args, env, allow_network, allowed_hosts } => {
            let env = ServerSecrets::Plain(env);
            ServerTransport::Stdio { command, args, env, allow_network, allowed_hosts }
        }
        Transport::Http { url, headers } => {
            let (headers, may_be_internal) = (ServerSecrets::Plain(headers), caller.is_admin);
            ServerTransport::Http { url, headers, may_be_internal }
        }
    })
}

/// Reports network access that only an administrator may grant: the orchestrator reaches networks
/// that its users do not, and a server must not expose them.
fn network_fault(transport: &Transport) -> Option<String> {
    match transport {
        Transport::Stdio { allow_network: true, .. } => {
            Some("only an administrator may allow a server to connect to every host".to_owned())
        }
        Transport::Stdio { allowed_hosts, .. }
            if AllowedHosts::parse(allowed_hosts).is_ok_and(|hosts| hosts.has_any_host()) =>
        {
            Some("only an administrator may allow a server to connect to every host".to_owned())
        }
        Transport::Http { url, .. } if is_internal(url) => {
            Some("only an administrator may install a server at an internal address".to_owned())
        }
        Transport::Stdio { .. } | Transport::Http { .. } => None,
    }
}

/// Whether a URL names this machine or a private network. A public name that resolves to one is
/// rejected when the connection is made.
fn is_internal(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => is_internal_name(name),
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        None => true,
    }
}

fn transport_faults(transport: &Transport) -> Vec<String> {
    let mut faults = vec![];
    match transport {
        Transport::Stdio { command, args, env, allowed_hosts, .. } => {
            if let Err(error) = AllowedHosts::parse(allowed_hosts) {
                faults.push(format!("allowed_hosts: {error}"));
            }
            let is_odd = |text: &str| text.contains('\0') || text.len() > MAX_VALUE_BYTES;
            if command.is_empty() || is_odd(command) {
                faults.push(format!("command must have 1 to {MAX_VALUE_BYTES} bytes and no NUL"));
            }
            if args.len() > MAX_ARGS || args.iter().any(|arg| is_odd(arg)) {
                faults.push(format!(
                    "args may have at most {MAX_ARGS} entries of {MAX_VALUE_BYTES} bytes without NUL"
                ));
            }
            if env.len() > MAX_VALUES || env.values().any(|value| is_odd(value)) {
                faults.push(format!(
                    "env may have at most {MAX_VALUES} values of {MAX_VALUE_BYTES} bytes without NUL"
                ));
            }
            if !env.keys().all(|name| is_variable(name)) {
                let rule = "names in env may contain only letters, digits and _, and must not begin \
                            with a digit";
                faults.push(rule.to_owned());
            }
        }
        Transport::Http { url, headers } => {
            faults.extend(url_fault(url));
            let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let is_name = |name: &String| !name.is_empty() && name.chars().all(is_token);
            if headers.len() > MAX_VALUES || !headers.keys().all(is_name) {
                faults.push(format!(
                    "headers may have at most {MAX_VALUES} names of letters, digits, - and _"
                ));
            }
            let is_value = |value: &String| {
                value.len() <= MAX_VALUE_BYTES
                    && value.chars().all(|c| c == '\t' || !c.is_control())
            };
            if !headers.values().all(is_value) {
                faults.push(format!(
                    "values of headers may have at most {MAX_VALUE_BYTES} bytes and no control \
                     characters"
                ));
            }
        }
    }
    faults
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Rejects credentials in a URL, since URLs are displayed.
fn url_fault(text: &str) -> Option<String> {
    let Ok(url) = Url::parse(text) else {
        return Some("url is not a URL".to_owned());
    };
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Some("url begins with http:// or https:// and names a host".to_owned());
    }
    let has_secret = !url.username().is_empty() || url.password().is_some();
    has_secret.then(|| "put credentials into headers, not into url".to_owned())
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::UserId;

    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_internal() {
        for url in [
            "http://localhost/mcp",
            "http://127.0.0.1:1",
            "http://10.1.2.3",
            "http://169.254.169.254/latest",
            "http://[::1]/",
            "http://[::ffff:192.168.0.1]/",
            "http://database",
            "http://vault.internal",
        ] {
            assert!(is_internal(url), "{url}");
        }
        assert!(!is_internal("https://mcp.example.com/"));
        assert!(!is_internal("https://93.184.216.34/"));
    }

    #[test]
    fn only_what_an_administrator_writes_down_may_be_in_an_internal_network() {
        let grant = |is_admin: bool| {
            let caller = Caller::on_behalf_of(UserId::generate(), "ada".to_owned(), is_admin);
            let url = "https://mcp.example.com/".to_owned();
            match validate_transport(&caller, &Transport::Http { url, headers: [].into() }) {
                Ok(ServerTransport::Http { may_be_internal, .. }) => may_be_internal,
                Ok(ServerTransport::Stdio { .. }) | Err(_) => panic!("it can be installed"),
            }
        };

        assert_eq!((grant(true), grant(false)), (true, false));
    }
}
