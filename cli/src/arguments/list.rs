//! Lists that are one argument: names with commas between them.

/// Returns the names of a list, such as `cuda,cpu`.
pub(crate) fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}
