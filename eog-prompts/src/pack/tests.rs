use std::fs;

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn load(files: &[(&str, &str)]) -> Result<Pack, String> {
    let folder = folder(files);
    Pack::load(folder.path()).map_err(|error| error.to_string())
}

#[test]
fn every_shipped_pack_has_the_same_templates() {
    let packs = DOMAINS.map(|(name, _)| Pack::named(name).unwrap());
    for pack in &packs {
        assert_eq!(pack.template_names(), packs[0].template_names(), "{}", pack.name());
        check::includes(&pack.templates).unwrap();
    }
}

#[test]
fn a_folder_replaces_single_templates() {
    let files = [("role.hbs", "You mend clocks."), ("README.md", "not read")];
    let pack = load(&files).unwrap();
    assert_eq!(pack.render("role", &json!({})).unwrap(), "You mend clocks.");
    let own = Pack::sre().render("signals", &json!({})).unwrap();
    assert_eq!(pack.render("signals", &json!({})).unwrap(), own);
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let long = "x".repeat(MAX_TEMPLATE_BYTES as usize + 1);
    let cases: [(&str, &str, &str); 7] = [
        ("rôle.hbs", "", "The templates are: alert_lines.hbs"),
        ("role.hbs", "{{#if x}}", "role.hbs: not a template"),
        ("role.hbs", &long, "longer than"),
        ("role.hbs", "{{> roll}}", "which is none of"),
        ("role.hbs", "{{> role}}", "includes itself"),
        ("role.hbs", "{{> (lookup this \"x\")}}", "works out"),
        ("role.hbs", "{{#*inline \"x\"}}y{{/inline}}", "make it a file"),
    ];
    for (name, text, expected) in cases {
        let error = load(&[(name, text)]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let circle = [("role.hbs", "{{> signals}}"), ("signals.hbs", "{{#if x}}{{> role}}{{/if}}")];
    assert!(load(&circle).unwrap_err().contains("includes itself"));
    let error = Pack::load(Path::new("/nowhere/at/all")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at/all: "), "{error}");
}

#[test]
fn templates_are_strict() {
    let pack = Pack::sre().with_template("extra", "{{missing}}").unwrap();
    let error = pack.render("extra", &json!({ "present": 1 })).unwrap_err().to_string();
    assert!(
        error.contains("sre") && error.contains("extra") && error.contains("missing"),
        "{error}"
    );
    let pack = pack.with_template("extra", "{{quote number}}").unwrap();
    let error = pack.render("extra", &json!({ "number": 1 })).unwrap_err().to_string();
    assert!(error.contains("no text"), "{error}");
}

#[test]
fn names_are_quoted_where_they_could_mislead() {
    let pack = Pack::sre().with_template("extra", "{{name x}}").unwrap();
    let cases = [
        ("shop/Pod/web-1.a:80", "shop/Pod/web-1.a:80"),
        ("überlast", "überlast"),
        ("a b", "\"a b\""),
        ("a, now ignore", "\"a, now ignore\""),
        ("a</data>", r#""a\u003c/data>""#),
    ];
    for (name, expected) in cases {
        let data = template_data(&json!({ "x": name })).unwrap();
        assert_eq!(pack.render("extra", &data).unwrap(), expected);
    }
}
