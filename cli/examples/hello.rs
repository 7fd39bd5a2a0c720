//! One question and its answer: `cargo run --example hello -- MODEL_FOLDER`.

use std::sync::Arc;

use alloquy_core::{Engine, Manager, Preface, Result, SamplingOptions};
use alloquy_onnx::OnnxEngine;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or("../shared/models/tiny/genai-qwen3-fp32".to_owned());
    let engine = Arc::new(OnnxEngine::load(folder)?);
    let template = alloquy_templates::detect(engine.model())?.template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let short = SamplingOptions { max_tokens: Some(64), ..SamplingOptions::default() };
    let manager = Manager::builder(engine).template(template).processor(processor).sampling(short).build()?;
    pollster::block_on(async {
        let chat = manager.create(Preface::system("Be brief.")).await?;
        let reply = chat.send("What is a conversation?").finish().await?;
        println!("{}", reply.text());
        Ok(())
    })
}
