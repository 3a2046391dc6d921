//! The table of rules in the documentation is that of the rules.

use std::path::Path;

use eog_evidence::EvidencePolicy;

const START: &str = "<!-- rules -->\n";
const END: &str = "<!-- /rules -->\n";

#[test]
fn the_documentation_lists_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/evidence-policy.md");
    let page = std::fs::read_to_string(&path).expect("the page on the policy is there");
    let (before, rest) = page.split_once(START).expect("the page has a place for the table");
    let (told, after) = rest.split_once(END).expect("the table ends");
    let table = EvidencePolicy::rule_table();
    if std::env::var_os("UPDATE_RULE_TABLE").is_some() {
        let page = format!("{before}{START}{table}{END}{after}");
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert_eq!(told, table, "run this test with UPDATE_RULE_TABLE=1 to renew the table");
}
