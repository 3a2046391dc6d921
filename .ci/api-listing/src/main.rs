//! Prints the public API of a library, one item a line, from the JSON that rustdoc wrote of it.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: eog-api-listing RUSTDOC.json");
        return ExitCode::from(2);
    };
    let listed = public_api::Builder::from_rustdoc_json(&path)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build();
    match listed {
        Ok(api) => {
            let mut out = std::io::stdout().lock();
            for item in api.items() {
                // A reader that has enough ends the listing.
                if writeln!(out, "{item}").is_err() {
                    break;
                }
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", path.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
