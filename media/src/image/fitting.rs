//! The nearest size of whole units whose area is within bounds: `smart_resize` of Qwen-VL's and LFM2-VL's processors in
//! transformers 5.23, its divisions in their order. Knows no model.

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
    let scaled = |side: usize| {
        let units = side as f64 / factor / unit as f64;
        [units.floor(), units.ceil()].map(|units| units.max(1.0) as usize * unit)
    };
    let heights = scaled(size.height);
    let sizes =
        scaled(size.width).into_iter().flat_map(|width| heights.map(|height| Size::new(width, height)));
    let fits = sizes.filter(|size| size.pixels() <= most);
    fits.max_by_key(|size| size.pixels()).unwrap_or_else(|| line(size, unit, most))
}

/// The longest line of whole units that lies as `size` does.
fn line(size: Size, unit: usize, most: usize) -> Size {
    let length = (most / unit / unit).max(1) * unit;
    if size.width < size.height { Size::new(unit, length) } else { Size::new(length, unit) }
}

fn sides(size: Size, unit: usize, units: impl Fn(f64, f64) -> f64) -> Size {
    let side = |side: usize| units(side as f64, unit as f64) as usize * unit;
    Size::new(side(size.width), side(size.height))
}
