//! Scores the PetShop data set in a directory: `cargo run -p eog-eval --example petshop -- DIR`.
//! With a second argument the results of all cases are written there as CSV.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("name the directory that holds graph.csv")?;
    let report = eog_eval::petshop::evaluate(Path::new(&dir))?;
    print!("{report}");
    if let Some(file) = arguments.next() {
        std::fs::write(file, report.to_csv())?;
    }
    Ok(())
}
