//! What every conversation store must do.
//!
//! | suite | stores |
//! |---|---|
//! | [`all`] | all |
//! | [`large`] | all; takes several seconds |
//! | [`persistent`] | those that outlive the process |
//! | [`threads_lose_nothing`] | those whose calls may be awaited on any thread |
//! | [`dropped_turns_are_kept`] | those that finish a call whose future is dropped |
//! | [`closing_keeps_dropped_turns`] | those that outlive the process and finish dropped calls |
//!
//! The laws need no async runtime, no file and no database of their own.
//!
//! ```
//! use alloquy_core::store::MemoryStore;
//! use alloquy_testing::laws;
//!
//! pollster::block_on(laws::store::all(async || MemoryStore::default()));
//! laws::store::threads_lose_nothing(&MemoryStore::default());
//! ```

// A law that panics is a law that is broken.
#![allow(clippy::indexing_slicing)]

mod blobs;
mod conversations;
mod deletions;
mod dropped;
mod handles;
mod head;
mod imports;
mod lists;
mod nodes;
mod outcomes;
mod owners;
mod pruning;
mod records;
mod samples;
mod searches;
mod short_names;
mod sizes;
mod writers;

use alloquy_core::store::ConversationStore;

pub use blobs::*;
pub use deletions::*;
pub use dropped::*;
pub use handles::*;
pub use head::*;
pub use imports::*;
pub use lists::*;
pub use nodes::*;
pub use owners::*;
pub use pruning::*;
pub use records::*;
pub use searches::*;
pub use short_names::*;
pub use sizes::*;
pub use writers::*;

/// Runs every law of a store but the [`large`] ones. `open` opens a new empty store each time.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub async fn all<S: ConversationStore>(open: impl AsyncFn() -> S) {
    creating_twice_is_a_conflict(&open().await).await;
    a_new_conversation_has_no_head(&open().await).await;
    a_new_name_can_be_seen(&open().await).await;
    names_stay_apart(&open().await).await;
    metadata_is_replaced_by_compare_and_set(&open().await).await;
    of_many_writers_one_replaces_metadata(&open().await).await;
    appending_again_changes_nothing(&open().await).await;
    a_batch_holds_a_node_once(&open().await).await;
    other_content_is_a_conflict(&open().await).await;
    a_parent_must_exist(&open().await).await;
    what_was_appended_is_loaded(&open().await).await;
    numbers_are_exact(&open().await).await;
    a_path_is_the_path_of_the_tree(&open().await).await;
    depth_is_no_limit(&open().await).await;
    siblings_are_in_creation_order(&open().await).await;
    conversations_share_no_nodes(&open().await).await;
    the_head_moves_by_compare_and_set(&open().await).await;
    of_many_writers_one_moves_the_head(&open().await).await;
    nodes_are_appended_with_the_head(&open().await).await;
    of_many_writers_one_appends_with_the_head(&open().await).await;
    a_head_must_exist(&open().await).await;
    each_comes_in_or_is_refused(&open().await).await;
    what_was_begun_is_finished(&open().await).await;
    questions(&open).await;
    removals(&open).await;
    owners_are_apart(&open().await).await;
    owners_search_their_own(&open().await).await;
    concurrent_appends_lose_nothing(&open().await).await;
    a_dropped_call_is_all_or_nothing(&open().await).await;
    a_dropped_append_never_moves_the_head_alone(&open().await).await;
    every_dropped_call_is_all_or_nothing(&open().await).await;
}

/// Runs the laws of lists and searches.
async fn questions<S: ConversationStore>(open: &impl AsyncFn() -> S) {
    conversations_are_listed_last_updated_first(&open().await).await;
    filters_compare_metadata(&open().await).await;
    times_are_compared_to_the_millisecond(&open().await).await;
    every_order_has_pages(&open().await).await;
    pages_are_stable_under_inserts(&open().await).await;
    pages_are_stable_under_updates(&open().await).await;
    a_list_has_no_relevance(&open().await).await;
    generated_ids_are_found_by_a_part(&open().await).await;
    words_are_found_on_every_branch(&open().await).await;
    every_script_is_searched(&open().await).await;
    a_search_obeys_the_query(&open().await).await;
    hits_are_by_relevance_or_newest_first(&open().await).await;
    hits_have_pages(&open().await).await;
    shared_messages_are_found_by_name(&open().await).await;
    a_search_needs_a_text(&open().await).await;
}

/// Runs the laws of deleting, pruning and collecting.
async fn removals<S: ConversationStore>(open: &impl AsyncFn() -> S) {
    a_missing_conversation_is_not_found(&open().await).await;
    a_deleted_conversation_is_gone(&open().await).await;
    what_matches_is_deleted(&open().await).await;
    deleting_everything_is_refused(&open().await).await;
    a_pruned_subtree_is_gone(&open().await).await;
    a_pruned_node_stays_pruned(&open().await).await;
    the_head_is_not_pruned(&open().await).await;
    compacting_changes_no_answer(&open().await).await;
    blobs_are_kept_by_digest(&open().await).await;
    a_blob_goes_with_its_last_reference(&open().await).await;
    a_blob_that_was_put_waits_for_its_node(&open().await).await;
}

/// Runs the laws of size: 100,000 nodes in a tree, messages of 10 MB.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub async fn large<S: ConversationStore>(open: impl AsyncFn() -> S) {
    a_hundred_thousand_nodes_are_a_tree(&open().await).await;
    ten_megabytes_are_a_message(&open().await).await;
}

/// Runs every law of a store that outlives the process.
///
/// `place` names a new empty place, and `open` opens a store there. Several stores may be open at one place.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub async fn persistent<P: Clone, S: ConversationStore>(place: impl Fn() -> P, open: impl AsyncFn(P) -> S) {
    let here = place();
    what_was_acknowledged_survives_closing(async || open(here.clone()).await).await;
    let here = place();
    what_was_acknowledged_survives(async || open(here.clone()).await).await;
    let here = place();
    handles_see_each_other(&open(here.clone()).await, &open(here).await).await;
    let here = place();
    of_two_handles_one_moves_the_head(&open(here.clone()).await, &open(here).await).await;
    let here = place();
    of_two_handles_one_replaces_metadata(&open(here.clone()).await, &open(here).await).await;
    let here = place();
    two_handles_lose_nothing(&open(here.clone()).await, &open(here).await).await;
}
