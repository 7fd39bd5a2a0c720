//! Notes as a conversation: writers at once, histories, exports, and a host that opens the conversation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::thread;

use alloquy_core::store::{ConversationStore, ConversationStoreExt, MemoryStore};
use alloquy_core::{ConversationManager, ErrorKind, Manager, NodeId, Owner, Preface, Query};
use alloquy_memory::{Note, NoteSource, Notes, Remember, laws, without_notes};
use alloquy_testing::{EchoModel, FaultStore, StoreCall};
use pollster::block_on;

fn texts(notes: &Notes, owner: &Owner) -> Vec<String> {
    let mut texts: Vec<_> =
        block_on(notes.list(owner)).unwrap().into_iter().map(|note| note.note.text).collect();
    texts.sort();
    texts
}

#[test]
fn notes_keep_the_laws() {
    block_on(async {
        let notes = Notes::new(Arc::new(MemoryStore::default()));
        laws::remember::all(&notes, &Owner::local()).await;
        laws::remember::all(&notes, &"ann".parse().unwrap()).await;
        for text in ["one", "two", "three"] {
            notes.remember(&Owner::local(), Note::new(text)).await.unwrap();
        }
        laws::recall::all(&notes, &Owner::local(), "whatever").await;
    });
}

#[test]
fn writers_in_two_managers_lose_nothing() {
    let store = Arc::new(MemoryStore::default());
    let mut threads = Vec::new();
    for writer in 0..2 {
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        let notes = Notes::new(store.clone());
        threads.push(thread::spawn(move || {
            let mut last: Option<NodeId> = None;
            for number in 0..50 {
                let note = Note::new(format!("writer {writer}, note {number}"));
                // Every second note replaces the one before it.
                let note = match last.take() {
                    Some(former) => note.replacing(former),
                    None => note,
                };
                let id = block_on(notes.remember(manager.owner(), note)).unwrap();
                last = Some(id).filter(|_| number % 2 == 0);
            }
        }));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let mut wanted = Vec::new();
    for writer in 0..2 {
        for number in (1..50).step_by(2) {
            wanted.push(format!("writer {writer}, note {number}"));
        }
    }
    wanted.sort();
    assert_eq!(texts(&Notes::new(store), &Owner::local()), wanted);
}

#[test]
fn two_replacements_of_a_note_are_two_notes_and_forgetting_both_forgets_all() {
    block_on(async {
        let (one, owner) = (Notes::new(Arc::new(MemoryStore::default())), Owner::local());
        let other = one.clone();
        let first = one.remember(&owner, Note::new("tea")).await.unwrap();
        let green = one.replace(&owner, first, Note::new("green tea")).await.unwrap();
        let black = other.replace(&owner, first, Note::new("black tea")).await.unwrap();
        assert_eq!(texts(&one, &owner), ["black tea", "green tea"]);
        one.forget(&owner, green).await.unwrap();
        assert_eq!(texts(&other, &owner), ["black tea"]);
        other.forget(&owner, black).await.unwrap();
        assert!(texts(&one, &owner).is_empty());
        assert!(one.get(&owner, first).await.unwrap_err().is_not_found());
    });
}

#[test]
fn a_note_keeps_its_source_and_its_former_versions_and_replacements_can_be_undone() {
    block_on(async {
        let (notes, owner) = (Notes::new(Arc::new(MemoryStore::default())), Owner::local());
        let source = NoteSource::new("letters".parse().unwrap(), NodeId::new());
        let oslo = notes.remember(&owner, Note::new("Oslo").source(source.clone())).await.unwrap();
        let rome = notes.replace(&owner, oslo, Note::new("Rome")).await.unwrap();
        let paris = notes.replace(&owner, rome, Note::new("Paris")).await.unwrap();
        let history = notes.history(&owner, paris).await.unwrap();
        let versions: Vec<_> = history.iter().map(|note| note.note.text.as_str()).collect();
        assert_eq!(versions, ["Oslo", "Rome", "Paris"]);
        assert_eq!(history[0].note.source, Some(source));
        assert_eq!(history[2].note.replaces, Some(rome));
        assert_eq!(notes.undo(&owner, rome).await.unwrap_err().kind(), ErrorKind::Conflict);
        notes.undo(&owner, paris).await.unwrap();
        assert_eq!(texts(&notes, &owner), ["Rome"]);
        // Forgetting one of the versions forgets the note.
        notes.forget(&owner, oslo).await.unwrap();
        assert!(texts(&notes, &owner).is_empty());
    });
}

#[test]
fn notes_travel_with_an_export_and_are_not_in_lists() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        let owner = manager.owner().clone();
        let notes = Notes::new(store);
        notes.remember(&owner, Note::new("Ann lives in Oslo.")).await.unwrap();
        let tea = manager.create(Preface::default()).await.unwrap();
        let listed = manager.list(&Query::default().filter(without_notes())).await.unwrap();
        assert_eq!(listed.conversations.len(), 1);
        assert_eq!(&listed.conversations[0].record.id, tea.id());

        let archive = manager.export(&notes.id().parse().unwrap()).await.unwrap();
        let elsewhere = Arc::new(MemoryStore::default());
        let ann: Owner = "ann".parse().unwrap();
        elsewhere.import(&ann, &archive).await.unwrap();
        assert_eq!(texts(&Notes::new(elsewhere), &ann), ["Ann lives in Oslo."]);
    });
}

#[test]
fn a_conversation_of_a_host_is_never_taken_for_notes() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        manager.open_or_create(&Notes::ID.parse().unwrap(), Preface::default()).await.unwrap();
        let notes = Notes::new(store.clone());
        let owner = Owner::local();
        assert_eq!(notes.list(&owner).await.unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(notes.remember(&owner, Note::new("tea")).await.unwrap_err().kind(), ErrorKind::Conflict);
        let others = notes.with_id("other notes".parse().unwrap());
        others.remember(&owner, Note::new("tea")).await.unwrap();
        assert_eq!(texts(&others, &owner), ["tea"]);
    });
}

#[test]
fn messages_that_a_host_adds_to_the_notes_are_no_notes() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        let notes = Notes::new(store.clone());
        let owner = Owner::local();
        let tea = notes.remember(&owner, Note::new("tea")).await.unwrap();
        let conversation = manager.find(Notes::ID).await.unwrap();
        conversation.goto(tea).await.unwrap();
        conversation.send("And milk?").await.unwrap();
        assert_eq!(texts(&notes, &owner), ["tea"]);
        // The head is below the note, which can be forgotten all the same.
        notes.forget(&owner, tea).await.unwrap();
        assert!(texts(&notes, &owner).is_empty());
        assert_eq!(store.record(&owner, conversation.id()).await.unwrap().head, None);
    });
}

#[test]
fn an_error_of_the_store_is_an_error_and_stores_nothing() {
    block_on(async {
        let store = Arc::new(FaultStore::new(MemoryStore::default()));
        let (notes, owner) = (Notes::new(store.clone()), Owner::local());
        notes.remember(&owner, Note::new("tea")).await.unwrap();
        store.fail(StoreCall::Append, 0);
        assert!(notes.remember(&owner, Note::new("milk")).await.is_err());
        store.recover();
        assert_eq!(texts(&notes, &owner), ["tea"]);
        store.fail(StoreCall::Load, 0);
        assert!(notes.list(&owner).await.is_err());
    });
}

#[test]
fn a_search_ranks_rare_words_higher() {
    block_on(async {
        let (notes, owner) = (Notes::new(Arc::new(MemoryStore::default())), Owner::local());
        for text in
            ["The user drinks tea.", "The user drinks coffee.", "The user lives in Zürich.", "お茶は緑です"]
        {
            notes.remember(&owner, Note::new(text)).await.unwrap();
        }
        let found = notes.search(&owner, "Does the user live near zurich?", 5).await.unwrap();
        assert_eq!(found[0].note.text, "The user lives in Zürich.");
        assert_eq!(found.len(), 3);
        assert_eq!(notes.search(&owner, "お茶", 5).await.unwrap().len(), 1);
        assert!(notes.search(&owner, "…", 5).await.unwrap().is_empty());
    });
}

#[test]
fn a_note_is_found_by_a_part_of_its_id_that_no_other_has() {
    block_on(async {
        let (notes, owner) = (Notes::new(Arc::new(MemoryStore::default())), Owner::local());
        let tea = notes.remember(&owner, Note::new("tea")).await.unwrap();
        let milk = notes.remember(&owner, Note::new("milk")).await.unwrap();
        for id in [tea, milk] {
            let whole = id.to_string();
            assert_eq!(notes.find(&owner, &whole).await.unwrap().id, id);
            assert_eq!(notes.find(&owner, &whole[24..]).await.unwrap().id, id);
        }
        // Both begin with the time.
        let error = notes.find(&owner, &tea.to_string()[..8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        for absent in ["", "0", "0.1", "zzzz"] {
            assert!(notes.find(&owner, absent).await.unwrap_err().is_not_found(), "{absent:?}");
        }
    });
}
