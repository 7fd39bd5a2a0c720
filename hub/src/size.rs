//! Numbers of bytes for people.

/// The units, each a thousand times the one before it.
const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];

/// Returns a number of bytes with the unit that people use for it, such as `1.3 GB`.
///
/// ```
/// assert_eq!(alloquy_hub::human(1_319_300_000), "1.3 GB");
/// assert_eq!(alloquy_hub::human(512), "512 bytes");
/// ```
pub fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = UNITS.iter();
    let mut name = unit.next().copied().unwrap_or_default();
    while value >= 999.5
        && let Some(larger) = unit.next()
    {
        value /= 1000.0;
        name = larger;
    }
    if name == "bytes" || value >= 99.95 {
        format!("{value:.0} {name}")
    } else {
        format!("{value:.1} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn the_unit_fits_the_number() {
        let cases = [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1.0 kB"),
            (99_949, "99.9 kB"),
            (99_960, "100 kB"),
            (999_600, "1.0 MB"),
            (4_000_000_000_000_000, "4000 TB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human(bytes), text);
        }
    }
}
