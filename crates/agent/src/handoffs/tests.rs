//! Handoffs against tools that follow a script; no model is there.
