//! Arithmetic without floats: whole numbers in which the lowest 32 bits are the fraction (Q32). Equal on
//! every platform.

/// √2 in Q32.
pub const SQRT_2: u64 = 6_074_001_000;

/// ln 2 in Q32.
const LN_2: u128 = 2_977_044_472;

/// The natural logarithm of a whole number in Q32, rounded down; 0 for 0 and 1.
///
/// The binary logarithm by repeated squaring (Knuth, *The Art of Computer Programming* 1, 1.2.2, exercise
/// 25), times ln 2.
pub fn ln(number: u64) -> u64 {
    if number < 2 {
        return 0;
    }
    let whole = number.ilog2();
    // From 1 to 2, in Q63.
    let mut mantissa = number << (63 - whole);
    let mut fraction = 0_u64;
    for _ in 0..32 {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let carries = square >> 64 != 0;
        fraction = fraction << 1 | u64::from(carries);
        mantissa = u64::try_from(if carries { square >> 1 } else { square }).unwrap_or(u64::MAX);
    }
    let binary = u128::from(whole) << 32 | u128::from(fraction);
    u64::try_from((binary * LN_2) >> 32).unwrap_or(u64::MAX)
}

/// The upper confidence bound of a child, in Q32: `W/N + 500·C·√(ln N_parent / N)`, for scores from 0 to
/// 1000 (Kocsis and Szepesvári 2006, as UCT in LATS, section 4.2; half the range, since rewards there go
/// from −1 to 1).
///
/// `total` is W, `visits` N, at least 1; `ln_parent` is [`ln`] of the visits of the parent, `c` C in Q32.
pub fn upper_bound(total: u64, visits: u64, ln_parent: u64, c: u64) -> u128 {
    let visits = u128::from(visits.max(1));
    let mean = (u128::from(total) << 32) / visits;
    let root = ((u128::from(ln_parent) << 32) / visits).isqrt();
    mean + 500 * ((u128::from(c) * root) >> 32)
}

/// The bound of a hypothesis that was not investigated yet, in Q32: `M + 1000·C·√(ln(1 + N) / (1 + N_p))`,
/// for scores from 0 to 1000.
///
/// `max` is M, the highest score of its parent and of what stands below that; `ln_all` is [`ln`] of one more
/// than the visits of the whole tree, `below` N_p, the visits below the parent, `c` C in Q32.
pub fn pending_bound(max: u16, below: u64, ln_all: u64, c: u64) -> u128 {
    let root = ((u128::from(ln_all) << 32) / (1 + u128::from(below))).isqrt();
    (u128::from(max) << 32) + 1000 * ((u128::from(c) * root) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: f64 = 4_294_967_296.0;

    #[test]
    fn logarithms_are_those_of_floats_to_nine_digits() {
        for number in (1..2_000).chain((1..60).map(|bits| (1_u64 << bits) + 12_345)) {
            let (ours, theirs) = (ln(number) as f64 / ONE, (number as f64).ln());
            assert!((ours - theirs).abs() < 2e-8, "{number}: {ours} {theirs}");
        }
        assert_eq!((ln(0), ln(1)), (0, 0));
    }

    #[test]
    fn bounds_are_those_of_floats_to_a_thousandth() {
        for (total, visits, parent) in
            [(0, 1, 1), (900, 1, 2), (12_345, 17, 80), (50_000_000, 70_000, 1_000_000)]
        {
            let ours = upper_bound(total, visits, ln(parent), SQRT_2) as f64 / ONE;
            let (w, n, p) = (total as f64, visits as f64, parent as f64);
            let theirs = w / n + 500.0 * 2_f64.sqrt() * (p.ln() / n).sqrt();
            assert!((ours - theirs).abs() < 1e-3, "{ours} {theirs}");
        }
    }

    #[test]
    fn bounds_of_hypotheses_are_those_of_floats_to_a_thousandth() {
        for (max, below, all) in [(0, 0, 0), (350, 1, 3), (900, 17, 80), (1000, 0, 1_000_000)] {
            let ours = pending_bound(max, below, ln(1 + all), 1 << 30) as f64 / ONE;
            let all = (1.0 + all as f64).ln();
            let theirs = f64::from(max) + 250.0 * (all / (1.0 + below as f64)).sqrt();
            assert!((ours - theirs).abs() < 1e-3, "{ours} {theirs}");
        }
    }
}
