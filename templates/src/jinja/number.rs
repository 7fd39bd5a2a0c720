//! Numbers as Python writes them.

use minijinja::Value;

/// Writes a number as `json.dumps` does.
pub(super) fn json(value: &Value) -> String {
    match float(value) {
        Some(number) if number.is_nan() => "NaN".to_owned(),
        Some(number) if number.is_infinite() => {
            if number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned()
        }
        Some(number) => finite(number),
        None => value.to_string(),
    }
}

/// Writes a number as `repr` does.
pub(super) fn repr(value: &Value) -> String {
    match float(value) {
        Some(number) if number.is_nan() => "nan".to_owned(),
        Some(number) if number.is_finite() => finite(number),
        _ => value.to_string(),
    }
}

/// Returns a float, or `None` for an integer of whatever size.
fn float(value: &Value) -> Option<f64> {
    if value.is_integer() { None } else { f64::try_from(value.clone()).ok() }
}

/// Writes the shortest digits that read back as the same number, with an exponent below 1e-4 and from 1e16 on.
fn finite(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = number.to_string();
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Writes a float with an exponent and `precision` digits after the point, as `%e`.
pub(super) fn scientific(number: f64, precision: usize) -> String {
    let written = format!("{number:.precision$e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Writes a float with `precision` digits in all, and without an exponent if that is short, as `%g`.
pub(super) fn general(number: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let written = scientific(number, precision - 1);
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let is_short = exponent >= -4 && usize::try_from(exponent).map_or(true, |exponent| exponent < precision);
    if !is_short {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs());
    }
    let decimals = usize::try_from(i32::try_from(precision).unwrap_or(i32::MAX) - 1 - exponent).unwrap_or(0);
    without_zeros(&format!("{number:.decimals$}")).to_owned()
}

/// Removes the zeros at the end of a fraction.
fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}
