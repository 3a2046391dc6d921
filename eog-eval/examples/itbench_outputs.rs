//! Scores a folder of ITBench outputs:
//! `cargo run -p eog-eval --example itbench_outputs -- TRUTHS OUTPUTS [K]`.

use std::path::Path;

use eog_eval::itbench::{Truths, evaluate_outputs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [truths, outputs, rest @ ..] = arguments.as_slice() else {
        return Err("name the truths and the folder of outputs".into());
    };
    let k = rest.first().map(|k| k.parse()).transpose()?;
    let report = evaluate_outputs(&Truths::read(Path::new(truths))?, Path::new(outputs), k)?;
    print!("{report}\n{}", report.to_csv());
    Ok(())
}
