//! The MCP gateway; being built.
