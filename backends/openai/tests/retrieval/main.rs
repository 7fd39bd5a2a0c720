//! Vectors and scores of a server that answers, misbehaves as planned, or is a real one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod embedder;
mod faults;
#[path = "../stub/http.rs"]
mod http;
#[path = "../llama/mod.rs"]
mod llama;
mod llamacpp;
mod reranker;
mod stub;
