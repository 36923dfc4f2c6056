//! Conversations against tools and a model that follow a script.
