//! What the start of a large incident costs.
mod shapes;
fn main() {
    divan::main();
}
