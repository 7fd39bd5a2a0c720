//! A chat: what was computed for one question is not computed again for the next.

use alloquy::prelude::*;

fn main() -> Result<()> {
    let chat = Model::pocket()?.conversation_with(Preface::system("Be brief."));
    for question in ["What is the capital of Portugal?", "And of France?"] {
        let answer = chat.ask(question)?;
        let usage = answer.reply.usage;
        println!("{} [{} of {} tokens cached]", answer.text(), usage.cached, usage.prompt);
    }
    Ok(())
}
