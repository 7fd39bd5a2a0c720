//! Finds the nearest size of whole units whose area is within bounds: `smart_resize` of Qwen-VL's and LFM2-VL's processors in
//! transformers 5.23, with the same order of divisions.

use super::view::Size;

/// Rounds both sides to whole units, ties to even.
pub(crate) fn rounded(size: Size, unit: usize) -> Size {
    sides(size, unit, |side, unit| (side / unit).round_ties_even())
}

/// Returns `near` where its area is within bounds, otherwise `size` scaled until it is, in whole units.
pub(crate) fn bounded(near: Size, size: Size, unit: usize, (least, most): (usize, usize)) -> Size {
    let area = size.pixels() as f64;
    if near.pixels() > most {
        let factor = (area / most as f64).sqrt();
        return sides(size, unit, |side, unit| (side / factor / unit).floor().max(1.0));
    }
    if near.pixels() < least {
        let factor = (least as f64 / area).sqrt();
        return sides(size, unit, |side, unit| (side * factor / unit).ceil());
    }
    near
}

/// Returns the largest size of whole units with at most `most` pixels whose sides are `size`'s, scaled to that area, rounded
/// up or down. A line that is narrower than a unit gets one, and is as much shorter.
pub(crate) fn within(size: Size, unit: usize, most: usize) -> Size {
    let factor = (size.pixels() as f64 / most as f64).sqrt();
    let mut largest: Option<Size> = None;
    for width in scaled(size.width, factor, unit) {
        for height in scaled(size.height, factor, unit) {
            let candidate = Size::new(width, height);
            let is_larger = largest.is_none_or(|largest| candidate.pixels() >= largest.pixels());
            if candidate.pixels() <= most && is_larger {
                largest = Some(candidate);
            }
        }
    }
    largest.unwrap_or_else(|| line(size, unit, most))
}

/// Returns a scaled side in whole units, rounded down and rounded up.
fn scaled(side: usize, factor: f64, unit: usize) -> [usize; 2] {
    let units = side as f64 / factor / unit as f64;
    [units.floor(), units.ceil()].map(|units| units.max(1.0) as usize * unit)
}

/// Returns the longest line of whole units in the direction of the longer side.
fn line(size: Size, unit: usize, most: usize) -> Size {
    let length = (most / unit / unit).max(1) * unit;
    if size.width < size.height { Size::new(unit, length) } else { Size::new(length, unit) }
}

/// Returns both sides in whole units; `units` says how many units of a length a side has.
pub(crate) fn sides(size: Size, unit: usize, units: impl Fn(f64, f64) -> f64) -> Size {
    let width = units(size.width as f64, unit as f64) as usize * unit;
    let height = units(size.height as f64, unit as f64) as usize * unit;
    Size::new(width, height)
}
