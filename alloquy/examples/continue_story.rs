//! Continues a text, printing each token as it comes: `continue_story [FOLDER] [TEXT]`.

use std::io::{Write, stdout};

use alloquy::core::prompt::PromptUnit;
use alloquy::core::tokenizer::{TokenId, TokenizerInput};
use alloquy::core::{Result, SamplingOptions};
use alloquy::engine::{CancelToken, Engine};
use alloquy::inference::Sampler;
use alloquy::onnx::OnnxEngine;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let shared = || std::env::var("ALLOQUY_SHARED").unwrap_or_else(|_| "../shared".to_owned());
    let folder = arguments.next().unwrap_or_else(|| shared() + "/models/stories260k");
    let engine = OnnxEngine::builder(folder).on_event(|event| eprintln!("{event}")).load()?;
    tell(&engine, &arguments.next().unwrap_or_else(|| "Once upon a time".to_owned()))
}

fn tell(engine: &dyn Engine, start: &str) -> Result<()> {
    let model = engine.model();
    let options = SamplingOptions { temperature: Some(0.8), top_p: Some(0.9), ..SamplingOptions::default() };
    let mut sampler = Sampler::new(&options)?;
    let mut session = engine.open()?;
    let mut text = engine.tokenizer().detokenizer();
    let bos = model.bos.as_ref().map(|bos| bos.id);
    let prompt = engine.tokenizer().encode(&[TokenizerInput::Text(start)])?;
    // The decoder hears the prompt too, so that it knows what a space in front of a word means.
    for &token in &prompt {
        print(&text.push(token)?);
    }
    let mut next: Vec<TokenId> = bos.into_iter().chain(prompt).collect();
    while session.length() + next.len() <= model.context_length {
        let units: Vec<PromptUnit> = next.iter().copied().map(PromptUnit::Token).collect();
        let token = sampler.sample(session.forward(&units, &CancelToken::default())?)?;
        // A model of stories alone goes on with the next story after the end of one.
        if model.stop_tokens.contains(&token) || Some(token) == bos {
            break;
        }
        print(&text.push(token)?);
        next = vec![token];
    }
    print(&text.finish());
    print("\n");
    Ok(())
}

fn print(text: &str) {
    // Output that nobody reads is no reason to fail.
    let _ = stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush());
}
