//! Figures in words: sizes, slopes, counts, shares and durations as every format writes them.

/// What stands where there is no figure.
pub(crate) const NONE: &str = "–";

const UNITS: [(&str, f64); 4] = [
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("B", 1.0),
];

/// The unit in which figures up to `magnitude` bytes read well: GiB from 10 GiB on, MiB, KiB or bytes.
fn unit(magnitude: f64) -> (&'static str, f64) {
    for (name, size) in UNITS {
        let from = if name == "GiB" { 10.0 * size } else { size };
        if magnitude >= from {
            return (name, size);
        }
    }
    UNITS[3]
}

/// A size: `32.0 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let (name, size) = unit(value.abs());
    format!("{} {name}", significant(value / size, name))
}

/// A size, where known.
pub(crate) fn bytes_option(value: Option<u64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| bytes(value as f64))
}

/// A signed change per step: `+84.6 MiB/step`.
pub(crate) fn slope(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => {
            let (name, size) = unit(value.abs());
            format!("{} {name}/step", signed(value / size, name))
        }
        _ => NONE.to_owned(),
    }
}

/// The interval of a slope, in the unit that suits its wider end: `+84.1 … +85.0 MiB/step`.
pub(crate) fn slope_interval(interval: Option<[f64; 2]>) -> String {
    match interval {
        Some([low, high]) if low.is_finite() && high.is_finite() => {
            let (name, size) = unit(low.abs().max(high.abs()));
            format!(
                "{} … {} {name}/step",
                signed(low / size, name),
                signed(high / size, name)
            )
        }
        _ => NONE.to_owned(),
    }
}

/// A count with its thousands apart; a fraction keeps two digits.
pub(crate) fn count(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        grouped(value as i64)
    } else {
        format!("{value:.2}")
    }
}

/// A share of one as a percentage: `97.3%`. Only what is whole reads as 0% or 100%.
pub(crate) fn share(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let percent = value * 100.0;
    if percent == 0.0 || percent == 100.0 {
        format!("{percent:.0}%")
    } else if percent > 99.9 && percent < 100.0 {
        short((percent * 1000.0).floor() / 1000.0)
    } else if percent > 0.0 && percent < 0.1 {
        short((percent * 1000.0).ceil() / 1000.0)
    } else {
        format!("{percent:.1}%")
    }
}

/// Up to three digits after the point, without zeros at the end.
fn short(percent: f64) -> String {
    let text = format!("{percent:.3}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A ratio: `1.05 ×`.
pub(crate) fn ratio(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.2} ×")
    } else {
        NONE.to_owned()
    }
}

/// A duration: `4.2 s`, `3 min 20 s`.
pub(crate) fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return NONE.to_owned();
    }
    if value < 99.95 {
        return format!("{value:.1} s");
    }
    let whole = value.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn significant(value: f64, unit: &str) -> String {
    if unit == "B" {
        return count(value.round());
    }
    match value.abs() {
        magnitude if magnitude >= 1000.0 => grouped(value.round() as i64),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn signed(value: f64, unit: &str) -> String {
    let text = significant(value.abs(), unit);
    if text == "0" {
        text
    } else if value < 0.0 {
        format!("−{text}")
    } else {
        format!("+{text}")
    }
}

fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 {
        format!("−{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn sizes_choose_their_unit() {
        let shown = [
            0.0,
            512.0,
            65536.0,
            32.0 * MIB,
            1064.0 * MIB,
            169_896.0 * MIB,
        ]
        .map(bytes);
        assert_eq!(
            shown,
            [
                "0 B",
                "512 B",
                "64.0 KiB",
                "32.0 MiB",
                "1,064 MiB",
                "166 GiB"
            ]
        );
    }

    #[test]
    fn slopes_carry_their_sign() {
        assert_eq!(slope(Some(84.6 * MIB)), "+84.6 MiB/step");
        assert_eq!(slope(Some(-2048.0)), "−2.00 KiB/step");
        assert_eq!(slope(Some(0.2)), "0 B/step");
        assert_eq!(slope(None), NONE);
        assert_eq!(slope(Some(f64::NAN)), NONE);
        assert_eq!(
            slope_interval(Some([-1024.0, 3.0 * MIB])),
            "−0.00 … +3.00 MiB/step"
        );
    }

    #[test]
    fn shares_round_to_whole_only_when_whole() {
        assert_eq!(share(1.0), "100%");
        assert_eq!(share(0.99996), "99.996%");
        assert_eq!(share(0.999_999_9), "99.999%");
        assert_eq!(share(0.0), "0%");
        assert_eq!(share(0.00001), "0.001%");
        assert_eq!(share(0.8999), "90.0%");
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(seconds(4.24), "4.2 s");
        assert_eq!(seconds(200.0), "3 min 20 s");
        assert_eq!(seconds(7260.0), "2 h 1 min");
    }
}
