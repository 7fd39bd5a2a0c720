//! The memory store and the fault store keep the laws of a store.

use alloquy_core::store::MemoryStore;
use alloquy_testing::{FaultStore, laws};

#[test]
fn memory() {
    pollster::block_on(laws::store::all(async || MemoryStore::default()));
    pollster::block_on(laws::store::dropped_turns_are_kept(async || MemoryStore::default()));
    laws::store::threads_lose_nothing(&MemoryStore::default());
}

#[test]
fn memory_at_size() {
    pollster::block_on(laws::store::large(async || MemoryStore::default()));
}

#[test]
fn a_fault_store_without_faults() {
    pollster::block_on(laws::store::all(async || FaultStore::new(MemoryStore::default())));
}
