//! One question and its answer: `cargo run -p alloquy --example hello`.

fn main() -> alloquy::Result<()> {
    // Or any folder with an export: alloquy::Model::open("models/qwen3")?
    let conversation = alloquy::Model::pocket()?.conversation();
    println!("{}", conversation.ask("What is the capital of Portugal?")?.text());
    Ok(())
}
