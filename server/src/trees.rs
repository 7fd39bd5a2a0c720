//! `/v1/alloquy/conversations`: stored conversations as trees, with their branches, their head and their notes.

mod conversations;
mod head;
mod identity;
mod listing;
mod objects;
mod reading;

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::operation::Operation;
use crate::paging::{ListOf, PageParameters};
use conversations::{ConversationChange, Deleted, NewTree};
use head::NewHead;
use listing::{ListParameters, SearchParameters, SearchResults};
use objects::{BranchObject, ConversationObject, HeadObject, NodeObject, TreeObject};
use reading::{DiffObject, DiffParameters};

/// What a request says of the head that it expects.
const IF_MATCH: (&str, &str) = (
    "if-match",
    "The head as it was read, in quotes. Where it is elsewhere, nothing happens and the status is 412.",
);

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
        .route("/v1/alloquy/conversations/{id}/diff", get(reading::diff))
        .route("/v1/alloquy/conversations/{id}/head", get(head::read).put(head::set))
        .route("/v1/alloquy/search", get(listing::search))
}

pub(crate) fn operations() -> Vec<Operation> {
    let mut all = conversation_operations();
    all.extend(tree_operations());
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
        Operation::delete(one, "Deletes a conversation with all its nodes.").answer::<Deleted>(),
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
