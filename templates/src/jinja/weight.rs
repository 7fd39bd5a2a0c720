//! The weight of values in memory, as the ledger counts it.

/// The bytes that a list or a map needs for each of its items, roughly.
pub(super) const ITEM_BYTES: usize = 32;

/// The weight of a value that never changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    pub(super) bytes: usize,
    pub(super) visits: u64,
    /// How deep its lists and maps nest.
    pub(super) levels: usize,
}

impl Weight {
    pub(super) fn of_text(text: &str) -> Self {
        Self { bytes: text.len(), ..Self::default() }
    }

    /// Counts an item of a list.
    pub(super) fn add_item(&mut self, item: Self) {
        self.bytes += ITEM_BYTES + item.bytes;
        self.visits += 1 + item.visits;
        self.levels = self.levels.max(1 + item.levels);
    }

    /// Counts a field of a map.
    pub(super) fn add_field(&mut self, key: &str, field: Self) {
        self.add_item(field);
        self.bytes += key.len();
    }
}
