//! Kubernetes' notation of quantities: `500m`, `512Mi`, `2`, `1e3`.

use serde_json::Value;

/// Suffixes and what they stand for. The longer ones come first: `Mi` ends in no `M`.
const SUFFIXES: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// The number that a quantity stands for, in its unit (bytes, cores, pieces).
pub(crate) fn quantity(value: &Value) -> Option<f64> {
    let text = match value {
        Value::String(text) => text.trim(),
        other => return other.as_f64(),
    };
    let suffixed = SUFFIXES.iter().find_map(|(suffix, factor)| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number * factor)
    });
    suffixed.or_else(|| text.parse().ok()).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        let cases = [
            (json!("500m"), Some(0.5)),
            (json!("2Ki"), Some(2048.0)),
            (json!("1.5G"), Some(1.5e9)),
            (json!("1e3"), Some(1000.0)),
            (json!("7"), Some(7.0)),
            (json!(7), Some(7.0)),
            (json!("inf"), None),
            (json!("many"), None),
            (json!(null), None),
        ];
        for (value, expected) in cases {
            assert_eq!(quantity(&value), expected, "{value}");
        }
    }
}
