//! Tests of the tree searches, as one binary.

mod bandit;
mod choices;
mod common;
mod dead_source;
mod evidence;
mod hypotheses;
mod lanes;
mod lats;
mod levels;
mod react;
mod restore;
#[path = "treeseeker/main.rs"]
mod treeseeker;
