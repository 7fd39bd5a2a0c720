//! Every family: what its prompts are cut into, and how its replies are read.

// Helpers of tests are tests to clippy only where they are compiled for tests alone.
#![cfg(test)]

mod configured;
mod fixtures;
mod laws;
mod loosened;
mod media;
mod own;
mod properties;
mod replies;
mod shapes;
mod support;
