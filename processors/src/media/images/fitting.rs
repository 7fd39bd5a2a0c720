//! The nearest size of whole units whose area is within bounds: `smart_resize` of Qwen-VL's and LFM2-VL's processors in
//! transformers 5.23, its divisions in their order. Knows no model.

use super::picture::Size;

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

fn sides(size: Size, unit: usize, units: impl Fn(f64, f64) -> f64) -> Size {
    let side = |side: usize| units(side as f64, unit as f64) as usize * unit;
    Size::new(side(size.width), side(size.height))
}
