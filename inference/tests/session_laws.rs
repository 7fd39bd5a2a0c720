//! The scripted engine obeys the laws of sessions.

#![allow(clippy::unwrap_used)]

use alloquy_core::tokenizer::TokenizerInput;
use alloquy_engine::Engine;
use alloquy_testing::{ScriptedEngine, laws};

#[test]
fn scripted_sessions_obey_every_law() {
    let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]).context_length(100);
    let prompt = "<user>Hi<end><assistant>Hello";
    let prompt = engine.tokenizer().encode(&[TokenizerInput::Text(prompt)]).unwrap();
    laws::session::all(&engine, &prompt, 0.0);
}
