//! The git broker: mirrors, checkouts, collected commits and pushes.
