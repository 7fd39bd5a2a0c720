//! Natural logarithms of many numbers.

use std::f64::consts::LN_2;

/// Replaces positive numbers, which are not below the least normal one, by their logarithms; off by less than 1e-14.
///
/// The standard library's function branches on the number. This one has no branch, so that a processor computes several at once.
/// Logarithms took half of the time for Whisper's features.
pub(super) fn logarithms(numbers: &mut [f64]) {
    for number in numbers {
        *number = logarithm(*number);
    }
}

/// The bits of the root of a half, the least of the fractions.
const LEAST: u64 = 0x3fe6_a09e_667f_3bcd;
/// The bits of 1.
const ONE: u64 = 0x3ff0_0000_0000_0000;
/// The bits of 2⁵². Its last bits can hold a smaller whole number.
const WHOLE: u64 = 0x4330_0000_0000_0000;
/// How many bits of a number are its fraction's.
const FRACTION: u32 = 52;

/// Splits a number into a power of two and a fraction between the roots of a half and of two: 12 is 0.75 · 2⁴. The fraction is `(1 + s) / (1 - s)`, whose logarithm is a series in `s` that converges fast.
fn logarithm(number: f64) -> f64 {
    let bits = number.to_bits().wrapping_add(ONE - LEAST);
    let power = f64::from_bits(bits >> FRACTION | WHOLE) - (f64::from_bits(WHOLE) + 1023.0);
    let fraction = f64::from_bits((bits & ((1 << FRACTION) - 1)) + LEAST);
    let s = (fraction - 1.0) / (fraction + 1.0);
    let square = s * s;
    let series = TERMS.iter().fold(0.0, |sum, term| sum * square + term);
    power * LN_2 + 2.0 * s * series
}

/// The weights of the series, the last one first.
const TERMS: [f64; 9] =
    [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
