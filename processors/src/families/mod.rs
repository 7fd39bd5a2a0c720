//! The table of families: a file and a line each.

mod gemma3;
mod generic;
mod qwen3;
mod vicuna;

use crate::family::Family;

/// Every family.
pub(crate) static FAMILIES: &[&Family] = &[
    // Alphabetic, since the order decides nothing: at most one family claims a model.
    &gemma3::FAMILY,
    &generic::FAMILY,
    &qwen3::FAMILY,
    &vicuna::FAMILY,
];

/// The family of models that no other claims.
pub(crate) use generic::FAMILY as FALLBACK;

#[cfg(test)]
mod tests {
    use super::FAMILIES;

    #[test]
    fn the_table_is_alphabetic() {
        assert!(FAMILIES.is_sorted_by(|left, right| left.name < right.name));
    }
}
