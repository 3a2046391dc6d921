//! Investigations and the tools over snapshots, offered to agents.
