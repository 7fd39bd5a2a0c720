//! `/v1/alloquy/conversations`: stored conversations as trees, with their branches, their head and their notes.

mod alternatives;
mod archives;
mod call_timing;
mod continuing;
mod conversation_feed;
mod conversations;
mod copying;
mod cost;
mod feed;
mod head;
pub(crate) mod identity;
mod listing;
mod media_bytes;
mod notes;
mod objects;
mod owner_feed;
mod prompt;
mod reading;
mod scores;
mod seen;
mod snapshots;
mod turn_events;
mod turn_tools;
mod turns;

use axum::Router;
use axum::routing::{get, post, put};

use crate::app::App;
use crate::deleted_object::DeletedObject;
use crate::operation::Operation;
use crate::paging::{ListOf, PageParameters};
use alternatives::{AlternativesObject, NewAlternatives};
use archives::{ExportObject, ExportParameters, ImportObject, NewImport};
use conversations::{ConversationChange, NewTree};
use copying::{MergeObject, NewFork, NewMerge, NewPrune, PruneObject};
use cost::{CostObject, CostParameters};
use head::NewHead;
use listing::{ListParameters, SearchParameters, SearchResults};
use notes::{NewBookmark, NewLabel, NotesObject};
use objects::{BranchObject, ConversationObject, HeadObject, NodeObject, TreeObject};
use prompt::{PromptObject, PromptParameters};
use reading::{DiffObject, DiffParameters};
use scores::{NewScores, ScoresObject};
use snapshots::{SavedObject, SnapshotObject};
use turn_events::TurnObject;
use turns::{AddedNodes, NewNodes, NewTurn};

/// What a request says of the head that it expects.
const IF_MATCH: (&str, &str) = (
    "if-match",
    "The head as it was read, in quotes. Where it is elsewhere, nothing happens and the status is 412.",
);

/// What a client sends after a lost connection.
const LAST_EVENT: &str = "The id of the last event that was received. The stream continues after it.";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/alloquy/conversations", get(listing::list).post(conversations::create))
        .route(
            "/v1/alloquy/conversations/{id}",
            get(conversations::one).post(conversations::change).delete(conversations::delete),
        )
        .route("/v1/alloquy/conversations/{id}/tree", get(reading::tree))
        .route("/v1/alloquy/conversations/{id}/branches", get(reading::branches))
        .route("/v1/alloquy/conversations/{id}/nodes/{node}", get(reading::node))
        .route("/v1/alloquy/conversations/{id}/nodes/{node}/path", get(reading::path))
        .route("/v1/alloquy/conversations/{id}/nodes/{node}/prompt", get(prompt::prompt))
        .route("/v1/alloquy/conversations/{id}/nodes/{node}/media/{digest}", get(media_bytes::bytes))
        .route("/v1/alloquy/conversations/{id}/diff", get(reading::diff))
        .route("/v1/alloquy/conversations/{id}/head", get(head::read).put(head::set))
        .route("/v1/alloquy/conversations/{id}/turns", post(turns::create))
        .route("/v1/alloquy/conversations/{id}/nodes", post(turns::add))
        .route("/v1/alloquy/conversations/{id}/score", post(scores::score))
        .route("/v1/alloquy/conversations/{id}/alternatives", post(alternatives::alternatives))
        .route("/v1/alloquy/conversations/{id}/fork", post(copying::fork))
        .route("/v1/alloquy/conversations/{id}/merge", post(copying::merge))
        .route("/v1/alloquy/conversations/{id}/prune", post(copying::prune))
        .route("/v1/alloquy/conversations/{id}/notes", get(notes::read))
        .route(
            "/v1/alloquy/conversations/{id}/labels/{node}",
            put(notes::set_label).delete(notes::remove_label),
        )
        .route(
            "/v1/alloquy/conversations/{id}/bookmarks/{name}",
            put(notes::set_bookmark).delete(notes::remove_bookmark),
        )
        .route("/v1/alloquy/conversations/{id}/cost", get(cost::cost))
        .route("/v1/alloquy/conversations/{id}/export", get(archives::export))
        .route("/v1/alloquy/conversations/{id}/events", get(conversation_feed::events))
        .route(
            "/v1/alloquy/conversations/{id}/snapshot",
            get(snapshots::read).put(snapshots::save).delete(snapshots::delete),
        )
        .route("/v1/alloquy/events", get(owner_feed::events))
        .route("/v1/alloquy/import", post(archives::import))
        .route("/v1/alloquy/search", get(listing::search))
}

pub(crate) fn operations() -> Vec<Operation> {
    let mut all = conversation_operations();
    all.extend(tree_operations());
    all.extend(change_operations());
    all.extend(note_operations());
    all.extend(snapshot_operations());
    all
}

fn conversation_operations() -> Vec<Operation> {
    let all = "/v1/alloquy/conversations";
    let one = "/v1/alloquy/conversations/{id}";
    vec![
        Operation::get(all, "Lists the conversations, the last updated first.")
            .query::<ListParameters>()
            .answer::<ListOf<ConversationObject>>(),
        Operation::post(all, "Creates a conversation.")
            .body::<NewTree>()
            .answer_with::<ConversationObject>(201),
        Operation::get(one, "Returns a conversation without its nodes.").answer::<ConversationObject>(),
        Operation::post(one, "Changes the metadata of a conversation.")
            .body::<ConversationChange>()
            .answer::<ConversationObject>(),
        Operation::delete(one, "Deletes a conversation with all its nodes.").answer::<DeletedObject>(),
        Operation::get("/v1/alloquy/search", "Finds messages on any branch of any conversation.")
            .query::<SearchParameters>()
            .answer::<SearchResults>(),
    ]
}

fn tree_operations() -> Vec<Operation> {
    let head = "/v1/alloquy/conversations/{id}/head";
    vec![
        Operation::get("/v1/alloquy/conversations/{id}/tree", "Returns every node of a conversation.")
            .answer::<TreeObject>(),
        Operation::get(
            "/v1/alloquy/conversations/{id}/branches",
            "Lists the branches, the oldest leaf first.",
        )
        .answer::<ListOf<BranchObject>>(),
        Operation::get("/v1/alloquy/conversations/{id}/nodes/{node}", "Returns a node.")
            .answer::<NodeObject>(),
        Operation::get(
            "/v1/alloquy/conversations/{id}/nodes/{node}/path",
            "Returns the nodes from the first message to this one.",
        )
        .query::<PageParameters>()
        .answer::<ListOf<NodeObject>>(),
        Operation::get(
            "/v1/alloquy/conversations/{id}/nodes/{node}/prompt",
            "Returns the prompt of a reply as it was sent, with the origin of each token.",
        )
        .query::<PromptParameters>()
        .answer::<PromptObject>(),
        Operation::get(
            "/v1/alloquy/conversations/{id}/nodes/{node}/media/{digest}",
            "Returns the bytes of an image, an audio clip or a video of a node.",
        )
        .bytes("image/*")
        .bytes("audio/*")
        .bytes("video/*")
        .bytes("application/octet-stream"),
        Operation::get("/v1/alloquy/conversations/{id}/diff", "Compares the paths to two nodes.")
            .query::<DiffParameters>()
            .answer::<DiffObject>(),
        Operation::get(head, "Returns the head, and its ETag.").answer::<HeadObject>(),
        Operation::put(head, "Moves the head.")
            .header(IF_MATCH.0, IF_MATCH.1)
            .body::<NewHead>()
            .answer::<HeadObject>(),
    ]
}

fn change_operations() -> Vec<Operation> {
    vec![
        Operation::post(
            "/v1/alloquy/conversations/{id}/turns",
            "Sends messages, edits one, answers one again, continues a reply, or decides on calls; whole or as events.",
        )
        .header(IF_MATCH.0, IF_MATCH.1)
        .body::<NewTurn>()
        .answer::<TurnObject>()
        .events(),
        Operation::post("/v1/alloquy/conversations/{id}/nodes", "Adds messages without a reply.")
            .header(IF_MATCH.0, IF_MATCH.1)
            .body::<NewNodes>()
            .answer_with::<AddedNodes>(201),
        Operation::post(
            "/v1/alloquy/conversations/{id}/score",
            "Returns how likely texts are as replies. Nothing is stored.",
        )
        .body::<NewScores>()
        .answer::<ScoresObject>(),
        Operation::post(
            "/v1/alloquy/conversations/{id}/alternatives",
            "Returns the most probable tokens at a place of a reply. Nothing is stored.",
        )
        .body::<NewAlternatives>()
        .answer::<AlternativesObject>(),
        Operation::post(
            "/v1/alloquy/conversations/{id}/fork",
            "Copies the path to a node into a new conversation.",
        )
        .body::<NewFork>()
        .answer_with::<ConversationObject>(201),
        Operation::post(
            "/v1/alloquy/conversations/{id}/merge",
            "Adds the nodes of another copy of the conversation.",
        )
        .body::<NewMerge>()
        .answer::<MergeObject>(),
        Operation::post("/v1/alloquy/conversations/{id}/prune", "Removes a node with everything below it.")
            .body::<NewPrune>()
            .answer::<PruneObject>(),
        Operation::post("/v1/alloquy/import", "Stores the conversations of a document.")
            .body::<NewImport>()
            .answer::<ImportObject>(),
    ]
}

fn note_operations() -> Vec<Operation> {
    let label = "/v1/alloquy/conversations/{id}/labels/{node}";
    let bookmark = "/v1/alloquy/conversations/{id}/bookmarks/{name}";
    vec![
        Operation::get("/v1/alloquy/conversations/{id}/notes", "Returns all labels and bookmarks.")
            .answer::<NotesObject>(),
        Operation::put(label, "Labels a node, and with it the branch below it.")
            .body::<NewLabel>()
            .answer::<NotesObject>(),
        Operation::delete(label, "Removes the label of a node.").answer::<NotesObject>(),
        Operation::put(bookmark, "Sets a bookmark, or moves it.")
            .body::<NewBookmark>()
            .answer::<NotesObject>(),
        Operation::delete(bookmark, "Removes a bookmark.").answer::<NotesObject>(),
        Operation::get(
            "/v1/alloquy/conversations/{id}/cost",
            "Returns the tokens and the cost of the replies.",
        )
        .query::<CostParameters>()
        .answer::<CostObject>(),
        Operation::get("/v1/alloquy/conversations/{id}/export", "Returns the conversation as a document.")
            .query::<ExportParameters>()
            .answer::<ExportObject>(),
        Operation::get("/v1/alloquy/conversations/{id}/events", "Reports the changes of the conversation.")
            .header(feed::LAST_EVENT_ID, LAST_EVENT)
            .events(),
        Operation::get("/v1/alloquy/events", "Reports which conversations change.")
            .header(feed::LAST_EVENT_ID, LAST_EVENT)
            .events(),
    ]
}

fn snapshot_operations() -> Vec<Operation> {
    let snapshot = "/v1/alloquy/conversations/{id}/snapshot";
    vec![
        Operation::get(snapshot, "Returns what the stored snapshot has.").answer::<SnapshotObject>(),
        Operation::put(snapshot, "Saves what the model has computed of the conversation.")
            .answer::<SavedObject>(),
        Operation::delete(snapshot, "Deletes the snapshot. The conversation stays.")
            .answer::<DeletedObject>(),
    ]
}
