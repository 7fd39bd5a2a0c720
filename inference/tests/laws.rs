//! Members of the open sets that this crate has, and stand-ins, run the laws of their sets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::Prompt;
use alloquy_core::{Message, Preface, Request, SamplingOptions};
use alloquy_engine::decoder::Decoder;
use alloquy_inference::{Drafting, Generator, GeneratorOptions, LanguageModel, PromptLookup};
use alloquy_testing::{
    ByteTokenizer, EchoModel, NoiseEngine, ScriptedEngine, TaggedProcessor, TaggedTemplate, laws,
};

fn request(text: &str) -> Request {
    Request::new(Preface::default(), vec![Message::user(text)])
}

#[test]
fn the_echo_model_is_a_chat_model() {
    pollster::block_on(laws::chat_model::all(&EchoModel, &request("one two three")));
}

#[test]
fn a_round_is_a_chat_model() {
    let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello, what a day!")]);
    let round =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor)
            .build();
    pollster::block_on(laws::chat_model::all(&round.unwrap(), &request("Hi")));
}

#[test]
fn a_round_is_a_chat_model_with_stop_texts() {
    let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello, what a day!")]);
    let round =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor)
            .build();
    let stop = SamplingOptions { stop: vec![" day".to_owned()], ..SamplingOptions::default() };
    pollster::block_on(laws::chat_model::all(&round.unwrap(), &request("Hi").sampling(stop)));
}

#[test]
fn a_generator_is_a_decoder() {
    for lookup in [None, Some(PromptLookup::default())] {
        let engine = ScriptedEngine::new([("Tell me: ", "a tale of six seas, of six seas and six tales")]);
        let options = GeneratorOptions { lookup, drafting: Drafting::Always, ..GeneratorOptions::default() };
        let decoder = Generator::new(Arc::new(engine), options).unwrap();
        let prompt = [PromptPart::Text("Tell me: ".to_owned())];
        let prompt = Prompt::lower(&prompt, decoder.tokenizer()).unwrap();
        pollster::block_on(laws::decoder::all(&decoder, &prompt));
    }
}

#[test]
fn the_byte_tokenizer_is_a_tokenizer() {
    laws::tokenizer::all(&ByteTokenizer::new(["<end>"]), &["Hello", " <end>", "中文 😀\n"]);
}

#[test]
fn sessions_of_noise_are_sessions() {
    let engine = NoiseEngine::new([]);
    let prompt: Vec<_> = "Once upon a time".bytes().map(u32::from).collect();
    laws::session::all(&engine, &prompt, 0.0);
}
