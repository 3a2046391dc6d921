

/// Log-odds as thousandths.
fn parse_weight(text: &str) -> Result<i32, String> {
    let weight = text.parse().ok().filter(|it: &f64| *it > 0.0 && *it <= 1.0);
    let weight = weight.map(|it| (it * 1e3).round() as i32).filter(|it| *it > 0);
    weight.ok_or_else(|| "expected a number from 0.001 to 1, such as 0.3".to_owned())
}
