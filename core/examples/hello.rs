//! The shortest conversation: a model, a question, an answer.

use std::sync::Arc;

use alloquy_core::{Conversation, Preface, Result, Round};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};

fn main() -> Result<()> {
    let engine = Arc::new(ScriptedEngine::new([("<user>Hello<end><assistant>", "Hello yourself!")]));
    let model = Round::builder(engine).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    let mut conversation = Conversation::new(Arc::new(model), Preface::system("Be brief."));
    println!("{}", conversation.send_message("Hello")?.text());
    Ok(())
}
