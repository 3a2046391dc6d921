# What contributors run. Plain `just` lists it.

default:
    @just --list

# All tests, as README says.
test:
    cargo test --locked

# Everything CI checks.
check:
    bash .ci/run

# Format all code.
fmt:
    cargo fmt --all

# Lints, as CI runs them.
lint:
    cargo clippy --workspace --all-targets --all-features -- -D warnings

# The documentation of all crates.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

# Licences, banned crates and sources (needs cargo-deny).
deny:
    cargo deny --workspace check licenses bans sources

# Write the expected outputs of the data-driven cases anew. Review the difference.
update-cases:
    EOG_UPDATE_CASES=1 cargo test -p eog-core --test data_driven

# The fault simulator over many seeds; `just simulate --reproduce 7` tells what one seed does.
simulate *ARGS:
    cargo run --release -p eog-testkit --example simulate -- {{ARGS}}

# Everything of which `cargo test` runs a sample, whole: kills, orders of answers, simulated faults.
full:
    EOG_KILL_POINTS=200 cargo test -p eog-cli --test all resume::killed -- --nocapture
    EOG_SEEDS=1000 cargo test --release -p eog --test all concurrency -- --nocapture
    cargo run --release -p eog-testkit --example simulate -- --seeds 1000

# Fuzz a reader until it breaks, such as `just fuzz table -max_total_time=60`. The targets are in fuzz/fuzz_targets.
fuzz TARGET *ARGS:
    bash fuzz/run {{ TARGET }} {{ ARGS }}

# Whether the fuzz targets still fit the crates.
check-fuzz:
    bash fuzz/run --check

# Write the golden ledgers that are missing; what is there stays.
add-golden:
    EOG_UPDATE_GOLDEN=1 cargo test -p eog --test golden every_golden

# Write the published JSON Schemas anew.
update-schemas:
    EOG_UPDATE_SCHEMAS=1 cargo test -p eog-cli -p eog-evidence schema
