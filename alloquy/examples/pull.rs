//! Fetches a model from a Hub, and asks it. Here the Hub is a server on this machine, and its one model is the built-in one; without
//! `endpoint` and `cache` it would be the Hugging Face Hub and the cache of this user.

use std::error::Error;
use std::ops::ControlFlow;

use alloquy::Model;
use alloquy::hub::{Hub, HubCache, Machine, ModelName, PullEvent, choose, human};
use alloquy_testing::HubServer;

fn main() -> Result<(), Box<dyn Error>> {
    let name: ModelName = "tiny/pocket-ONNX".parse()?;
    let server = serve(&name)?;
    let folder = tempfile::tempdir()?;
    let hub = Hub::builder().endpoint(server.endpoint()).cache(HubCache::at(folder.path())).build()?;

    let listing = hub.list(&name.repository, name.revision())?;
    let choice = choose(&listing, None, Machine::this())?;
    println!("{}: {} ({})", choice.variant.name, human(choice.bytes), choice.reason);
    let pulled = hub.pull(&name, &mut |event| {
        if let PullEvent::Checked { path } = event {
            println!("{path} is here");
        }
        ControlFlow::Continue(())
    })?;

    // With the cache of this user it would be `Model::open("tiny/pocket-ONNX")`.
    let model = Model::open(pulled.path)?;
    println!("{}", model.ask("What is the capital of Portugal?")?.text());
    Ok(())
}

/// Starts a Hub with the built-in model.
fn serve(name: &ModelName) -> Result<HubServer, Box<dyn Error>> {
    let server = HubServer::start()?;
    let files = alloquy_pocket::files();
    for file in files.names() {
        server.add(&name.repository.to_string(), file, files.read(file)?);
    }
    Ok(server)
}
