//! Writes the JSON Schemas of the bundle format.
//!
//! `cargo run -p eog-evidence --example write_bundle_schemas -- docs/schema`

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from);
    let dir = dir.ok_or("name the directory to write, such as docs/schema")?;
    std::fs::create_dir_all(&dir)?;
    for (name, schema) in eog_evidence::bundle_schemas() {
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        std::fs::write(dir.join(name), text)?;
    }
    println!("wrote {}", dir.display());
    Ok(())
}
