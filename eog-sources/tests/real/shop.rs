//! A shop of three services and what Prometheus saw of it.

use eog_core::Timestamp;

use super::Past;

/// When the past begins: 2026-01-01T10:00:00Z.
pub(crate) const BEGAN: i64 = 1_767_261_600;

/// Its length in seconds, and when the fault comes.
pub(crate) const LASTS: i64 = 3600;
pub(crate) const FAULT: i64 = 2700;

/// A shop of three services: from the fault on, `db` is slow and fails, and so does who calls it. A flag of
/// `db` was changed right before, and `cart` gets a new version long before.
pub(crate) fn shop() -> Past {
    let mut past = Past::default();
    let times = || (0..=LASTS / 15).map(|step| step * 15);
    for (at, (name, port, rate)) in
        [("web", 9001, 20.0), ("cart", 9002, 10.0), ("db", 9003, 10.0)].into_iter().enumerate()
    {
        let target = format!("job=\"{name}\",instance=\"127.0.0.1:{port}\"");
        past.add("up", "gauge", &format!("up{{{target}}}"), times().map(|t| (BEGAN + t, 1.0)));
        let start = f64::from(u32::try_from(BEGAN - 9000).expect("a time"));
        past.add(
            "process_start_time_seconds",
            "gauge",
            &format!("process_start_time_seconds{{{target}}}"),
            times().map(|t| (BEGAN + t, start)),
        );
        // What each request takes, with a ripple that tells samples apart.
        let bad = |t: i64| if t > FAULT { 1.0 } else { 0.0 };
        let failing = [0.2, 0.3, 0.5][at];
        let mut sums = (0.0, 0.0, 0.0);
        let mut rows = Vec::new();
        for t in times() {
            let requests = rate * 15.0 * (1.0 + 0.02 * ((t / 15 % 7) as f64 - 3.0));
            let failed = requests * failing * bad(t);
            sums.0 += requests - failed;
            sums.1 += failed;
            sums.2 += requests * (0.02 + 0.4 * bad(t)) * (1.0 + 0.03 * ((t / 15 % 5) as f64));
            rows.push((BEGAN + t, sums));
        }
        let family = "http_server_request_duration_seconds";
        let name = |part: &str, code: u16| {
            format!(
                "{family}_{part}{{{target},http_response_status_code=\"{code}\",http_route=\"/\"}}"
            )
        };
        past.add(family, "summary", &name("count", 200), rows.iter().map(|(t, s)| (*t, s.0)));
        past.add(family, "summary", &name("count", 500), rows.iter().map(|(t, s)| (*t, s.1)));
        past.add(family, "summary", &name("sum", 200), rows.iter().map(|(t, s)| (*t, s.2)));
        let asked = match name_of(at) {
            "web" => Some(9002),
            "cart" => Some(9003),
            _ => None,
        };
        if let Some(server) = asked {
            let family = "http_client_request_duration_seconds";
            let labels = format!("{target},server_address=\"127.0.0.1\",server_port=\"{server}\"");
            for part in ["count", "sum"] {
                let series = format!("{family}_{part}{{{labels}}}");
                past.add(family, "summary", &series, rows.iter().map(|(t, s)| (*t, s.0 + s.1)));
            }
        }
    }
    let build = |version: u8| {
        format!("cart_build_info{{job=\"cart\",instance=\"127.0.0.1:9002\",version=\"{version}\"}}")
    };
    past.add(
        "cart_build_info",
        "gauge",
        &build(1),
        times().filter(|t| *t < 600).map(|t| (BEGAN + t, 1.0)),
    );
    past.add(
        "cart_build_info",
        "gauge",
        &build(2),
        times().filter(|t| *t >= 600).map(|t| (BEGAN + t, 1.0)),
    );
    let firing = "alertname=\"HighErrorRate\",job=\"web\",severity=\"page\"";
    let after = || times().filter(|t| *t >= FAULT + 120);
    past.add(
        "ALERTS",
        "gauge",
        &format!("ALERTS{{{firing},alertstate=\"firing\"}}"),
        after().map(|t| (BEGAN + t, 1.0)),
    );
    let since = f64::from(u32::try_from(BEGAN + FAULT + 60).expect("a time"));
    past.add(
        "ALERTS_FOR_STATE",
        "gauge",
        &format!("ALERTS_FOR_STATE{{{firing}}}"),
        after().map(|t| (BEGAN + t, since)),
    );
    past
}

fn name_of(at: usize) -> &'static str {
    ["web", "cart", "db"][at]
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(BEGAN + second).expect("a time")
}
