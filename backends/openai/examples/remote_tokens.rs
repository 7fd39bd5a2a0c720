//! Continues a text on a server: `remote_tokens URL FOLDER TEXT`. The folder has the tokenizer of the model and no weights. The key of
//! the server, if it has one, is in the variable `REMOTE_KEY`.

use std::io::Write as _;

use alloquy_core::Result;
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::Prompt;
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::{ApiKey, RemoteDecoder, RemoteServer};
use futures::StreamExt;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(folder), Some(text)) = (arguments.next(), arguments.next(), arguments.next()) else {
        println!(
            "usage: remote_tokens URL FOLDER TEXT, such as http://localhost:8000 models/qwen3-4b \"Once upon a time\""
        );
        return Ok(());
    };
    pollster::block_on(continue_text(&url, &folder, &text))
}

async fn continue_text(url: &str, folder: &str, text: &str) -> Result<()> {
    let mut server = RemoteServer::at(url);
    if std::env::var_os("REMOTE_KEY").is_some() {
        server = server.key(ApiKey::variable("REMOTE_KEY")?);
    }
    let decoder = RemoteDecoder::connect(server, folder).await?;
    eprintln!("{:#?}", decoder.description());
    let mut parts = Vec::new();
    if let Some(bos) = &decoder.model().bos {
        parts.push(PromptPart::Tokens(vec![bos.id]));
    }
    parts.push(PromptPart::Literal(text.to_owned()));
    let prompt = Prompt::lower(&parts, decoder.tokenizer())?;

    // A detokenizer that has read the text knows that the reply is in the middle of one.
    let mut detokenizer = decoder.tokenizer().detokenizer();
    for id in prompt.tokens().flatten() {
        detokenizer.push(id)?;
    }
    print!("{text}");
    let mut events = decoder.decode(DecodeRequest::new(prompt, 100));
    while let Some(event) = events.next().await {
        match event?.kind {
            DecodeEventKind::Token { id, .. } => {
                print!("{}", detokenizer.push(id)?);
                // A terminal that is gone is no reason to stop.
                let _ = std::io::stdout().flush();
            }
            DecodeEventKind::Prefilled(report) => eprintln!("{report:?}"),
            _ => {}
        }
    }
    println!("{}", detokenizer.finish());
    Ok(())
}
