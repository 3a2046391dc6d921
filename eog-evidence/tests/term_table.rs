//! The table of terms in the documentation is that of the policy.

use std::path::Path;

use eog_evidence::Weights;

const START: &str = "<!-- terms -->\n";
const END: &str = "<!-- /terms -->\n";

#[test]
fn the_documentation_lists_the_terms() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/evidence-policy.md");
    let page = std::fs::read_to_string(&path).expect("the page on the policy is there");
    let (before, rest) = page.split_once(START).expect("the page has a place for the table");
    let (listed, after) = rest.split_once(END).expect("the table ends");
    let table = Weights::shipped().markdown();
    if std::env::var_os("UPDATE_TERM_TABLE").is_some() {
        let page = format!("{before}{START}{table}{END}{after}");
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert_eq!(listed, table, "run this test with UPDATE_TERM_TABLE=1 to renew the table");
}
