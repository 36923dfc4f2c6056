//! Deliberate faults, which show that tests prove their requirement, are in no program that is shipped.

use crate::programs::binary_path;

/// The variable that switches a fault on, where there are any.
const SWITCH: &str = "CYNODE_FAULT";

#[test]
fn no_program_that_is_shipped_has_a_switch_for_faults() {
    for name in
        ["cynode", "cynork", "cynode-orchestrator", "cynode-runner", "cynode-node", "cynode-stages"]
    {
        let program = std::fs::read(binary_path(name)).unwrap();

        assert!(program.len() > 100_000, "{name} is no program");
        // The search of the standard library is optimised in debug builds too.
        let has_switch = String::from_utf8_lossy(&program).contains(SWITCH);
        assert!(!has_switch, "{name} was built with deliberate faults: build it again");
    }
}
