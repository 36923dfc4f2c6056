//! Skills: instructions for agents.

use uuid::Uuid;

/// The id of the system skill, the same in every installation.
pub const SYSTEM_SKILL: Uuid = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);

words! {
    /// The readers of a skill, narrowest first.
    SkillScope("skill scope") {
        /// Its owner.
        User = "user",
        /// The members of a group.
        Group = "group",
        /// Users with access to a project.
        Project = "project",
        /// Every user.
        Global = "global",
    }

    /// Why a skill is rejected.
    Category("category") {
        /// It contains text that readers do not see.
        HiddenInstructions = "hidden_instructions",
        /// It tells agents to ignore earlier instructions.
        InstructionOverride = "instruction_override",
        /// It gives agents another identity, without their limits.
        PersonaOverride = "persona_override",
        /// It asks for secrets, or for ways to bypass their protection.
        SecretBypass = "secret_bypass",
        /// It sends data to others.
        Exfiltration = "exfiltration",
        /// It makes agents act behind the back of people.
        ToolCoercion = "tool_coercion",
        /// It pretends approvals or results.
        ApprovalForging = "approval_forging",
        /// It hides instructions in an encoding, or runs what it decodes.
        EncodedPayload = "encoded_payload",
    }
}
