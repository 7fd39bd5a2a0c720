//! Names that are typed: whole, or the beginning or the end of a generated id.

use alloquy_core::Owner;
use alloquy_core::store::{ConversationStore, ConversationStoreExt as _};

use super::conversations::created;
use super::outcomes::{me, must, name};

/// Conversations with generated ids, which the names below are parts of, and with names that look alike.
const IDS: [&str; 7] = [
    "0197a3c1-52a0-7000-8000-00004fc9d2ab",
    "0197a3c1-52a0-7000-8000-0001c3c9d2ab",
    "0197a3c2-0000-7000-8000-00000197a3c2",
    "import-e3b0c44298fc1c14",
    "0197",
    "0197a3c1-my-name",
    "cafe-1",
];

/// A conversation is found by its name, and by the beginning or the end of a generated id. Other names are whole.
pub async fn generated_ids_are_found_by_a_part(store: &dyn ConversationStore) {
    for id in IDS {
        created(store, id).await;
    }
    let [first, second, third, imported, short, named, _] = IDS;
    let cases: [(&str, &[&str]); 13] = [
        (first, &[first]),
        (short, &[short]),
        (named, &[named]),
        ("0197a3c1", &[first, second]),
        ("0197a3c1-52a0-7000-8000-0001", &[second]),
        ("c9d2ab", &[first, second]),
        ("4fc9d2ab", &[first]),
        // The beginning of an id counts before the end of another one.
        ("0197a3c2", &[third]),
        ("import-e3", &[imported]),
        ("98fc1c14", &[imported]),
        ("cafe", &[]),
        ("2ab", &[]),
        ("0197a3c1-my", &[]),
    ];
    for (text, expected) in cases {
        let found = must("named", store.named(&me(), text, 10).await);
        let found: Vec<_> = found.iter().map(|summary| summary.record.id.as_str()).collect();
        assert_eq!(found, expected, "{text:?} means these conversations");
    }
    assert_eq!(must("named", store.named(&me(), "0197a3c1", 1).await).len(), 1, "a limit is kept");
    let other: Owner = must("an owner", "other".parse());
    assert!(must("named", store.named(&other, first, 10).await).is_empty(), "owners are apart");
    assert!(must("named", store.named(&me(), "", 10).await).is_empty(), "no conversation has no name");
    must("delete", store.delete(&me(), &name(first)).await);
    assert_eq!(
        must("named", store.named(&me(), "c9d2ab", 10).await).len(),
        1,
        "what is deleted is not found"
    );
}
