//! One question and its answer: `cargo run --example hello`.

use std::sync::Arc;

use alloquy_core::{Engine, Manager, Preface, Result};
use alloquy_inference::LanguageModel;
use alloquy_onnx::OnnxEngine;

fn main() -> Result<()> {
    // Or any folder with an export: OnnxEngine::load("models/qwen3")?
    let engine = Arc::new(OnnxEngine::of_files(alloquy_pocket::files()).load()?);
    let template = alloquy_templates::detect(engine.model())?.template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let model = LanguageModel::builder(engine).template(template).processor(processor).build()?;
    let manager = Manager::new(model);
    pollster::block_on(async {
        let chat = manager.create(Preface::system("Be brief.")).await?;
        let reply = chat.send("What is the capital of Portugal?").finish().await?;
        println!("{}", reply.text());
        Ok(())
    })
}
