//! What users read when something is not as it should be.

use crate::lab::{Lab, flash_sale, run};

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let Some(lab) = Lab::new() else { return };
    let path = flash_sale();
    let path = path.to_str().unwrap();
    let says = |arguments: &[&str], code: i32, words: &str| {
        lab.run(arguments).exits(code).says(&[words]);
    };
    says(&["list"], 1, "does not exist on the cluster; eog worker or eog submit creates it");
    says(&["list", "--nats", "nats://127.0.0.1:1"], 1, "check that the address is right");
    says(&["list", "--nats", "nats://me:secret@127.0.0.1:1"], 2, "EOG_NATS_PASSWORD");
    says(&["list", "--nats-user", "me"], 2, "set EOG_NATS_PASSWORD");
    says(&["list", "--nats-cert", "cert.pem"], 2, "--nats-cert needs --nats-key");
    says(&["list", "--nats-ca", "none.pem"], 4, "none.pem");
    says(&["list", "--nats-creds", "none.creds"], 4, "none.creds");
    says(&["list", "--nats-prefix", "a.b"], 2, "is not a name");
    run(lab.eog(&["list"]).env_remove("EOG_NATS_URL")).says(&["give --nats URL"]);

    says(&["submit", path, "--id", "a b"], 2, "is not a name");
    says(&["submit", path, "--max-incident", "100"], 4, "--max-incident");
    says(&["submit", path, "--controller", "linear", "--profile", "paper"], 2, "--profile");
    says(&["submit", path, "--cause", "unknown"], 2, "the incident has no entity");
    lab.submit("one", &[]);
    lab.submit("linear", &["--controller", "linear"]);
    says(&["submit", path, "--id", "one"], 2, "exists already");
    says(&["fetch", "two", "--out", "out"], 4, "eog list shows them");
    says(&["fetch", "one", "--out", "out"], 1, "no worker has started it");
    says(&["tell", "one"], 2, "no input");
    says(&["tell", "one", "--cause", "unknown"], 2, "the incident has no entity");
    says(&["tell", "linear", "--cause", "frontend"], 2, "takes no input while it runs");
}
