//! The shortest conversation: a model, a question, an answer.

use std::sync::Arc;

use alloquy_core::{Conversation, Preface, Result};
use alloquy_testing::ScriptedModel;

fn main() -> Result<()> {
    let model = ScriptedModel::new([("<user>Hello<end><assistant>", "Hello yourself!")]);
    let mut conversation = Conversation::new(Arc::new(model), Preface::system("Be brief."));
    println!("{}", conversation.send_message("Hello")?.text());
    Ok(())
}
