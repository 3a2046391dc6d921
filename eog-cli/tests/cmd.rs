//! What the command says to wrong invocations and broken inputs, with exit codes.

#[test]
fn wrong_invocations_and_broken_inputs() {
    trycmd::TestCases::new().case("tests/cmd/*.md").env("COLUMNS", "100");
}
