//! Fetching models from a Hub by name, and what lists say of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;
#[cfg(unix)]
mod terminal;

use alloquy_testing::{HubFaults, HubServer};
use program::Program;

const NAME: &str = "karpathy/stories-ONNX";

/// A program whose Hub has one model, in two variants.
struct World {
    server: HubServer,
    program: Program,
}

impl World {
    /// `None` where the shared models are missing.
    fn new() -> Option<Self> {
        let model = shared::find("models/stories260k-past-present")?;
        let server = HubServer::start().unwrap();
        for entry in std::fs::read_dir(&model).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            if name.ends_with(".onnx") {
                server.add(NAME, &format!("onnx/{}", name.replace(".onnx", "_q4.onnx")), bytes.clone());
                server.add(NAME, &format!("onnx/{}", name.replace(".onnx", "_fp16.onnx")), bytes);
            } else {
                server.add(NAME, name, bytes);
            }
        }
        let program = Program::new().variable("HF_HOME", "hf").variable("HF_ENDPOINT", server.endpoint());
        Some(Self { server, program })
    }
}

#[test]
fn a_model_is_fetched_and_opened_by_its_name() {
    let Some(World { server, program }) = World::new() else { return };
    let missing = program.run(&["complete", "--model", NAME, "Once"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains(&format!("`alloquy pull {NAME}` fetches it")), "{}", missing.err);

    let pulled = program.run(&["pull", NAME]).ok();
    assert!(pulled.out.trim_end().ends_with("onnx/model_q4.onnx"), "{}", pulled.out);
    assert!(pulled.err.contains("variant q4"), "{}", pulled.err);
    assert!(pulled.err.contains("licence apache-2.0"), "{}", pulled.err);
    assert!(server.requests().iter().all(|request| !request.path.contains("fp16")));

    let answer =
        program.run(&["complete", "--model", NAME, "--max-tokens", "8", "--temperature", "0", "Once"]).ok();
    assert!(!answer.out.is_empty());
    let again = program.run(&["pull", NAME, "--json"]).ok().events().remove(0);
    assert_eq!((again["name"].as_str(), again["variant"].as_str()), (Some(NAME), Some("q4")));
}

#[test]
fn lists_name_what_was_fetched_and_removing_it_is_said() {
    let Some(World { program, .. }) = World::new() else { return };
    program.run(&["pull", NAME]).ok();
    let listed = program.run(&["models"]).ok().out;
    let row = listed.lines().find(|line| line.starts_with(NAME)).unwrap();
    assert!(row.contains("q4") && row.contains("text"), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    program.run(&["pull", NAME, "--variant", "fp16"]).ok();
    let listed = program.run(&["models", "--json"]).ok().events().remove(0);
    let names: Vec<_> =
        listed["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"karpathy/stories-ONNX:q4") && names.contains(&"karpathy/stories-ONNX:fp16"),
        "{names:?}"
    );
    for name in &names {
        program.run(&["models", "show", name]).ok();
        program.run(&["render", "--model", name, "--template", "chatml", "Hi"]).ok();
    }
    let removed = program.run(&["models", "rm", NAME]).ok().out;
    assert!(removed.starts_with("removed karpathy/stories-ONNX: "), "{removed}");
    assert_eq!(program.run(&["models", "rm", NAME]).code, Some(1));
}

#[test]
fn variants_are_listed_with_the_one_that_fits() {
    let Some(World { server, program }) = World::new() else { return };
    let listed = program.run(&["pull", NAME, "--list"]).ok().out;
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(
        lines.iter().any(|line| line.starts_with("* q4 ") && line.contains("weights of 4 bits")),
        "{listed}"
    );
    assert!(server.requests().iter().all(|request| !request.path.contains("resolve")), "nothing is fetched");
}

#[test]
fn what_goes_wrong_is_said_with_what_to_do() {
    let Some(World { server, program }) = World::new() else { return };
    let cases: [(&[&str], i32, &str); 5] = [
        (&["pull", "stories"], 2, "write OWNER/NAME"),
        (&["pull", "nobody/nothing"], 1, "check the name"),
        (&["pull", NAME, "--variant", "q8"], 1, "it has fp16, q4"),
        (&["pull", NAME, "--revision", "v9"], 1, "has no revision \"v9\""),
        (&["models", "show", "nothing"], 1, "`alloquy models` lists those that are"),
    ];
    for (arguments, code, text) in cases {
        let failed = program.run(arguments);
        assert_eq!(failed.code, Some(code), "{arguments:?}: {}", failed.err);
        assert!(failed.err.contains(text), "{arguments:?}: {}", failed.err);
    }
    server.set_faults(HubFaults { gate: Some("hf_right".into()), ..HubFaults::default() });
    let gated = program.run(&["pull", NAME]);
    assert!(gated.err.contains("is gated: accept its conditions at"), "{}", gated.err);
    let program = program.variable("HF_TOKEN", "hf_right");
    program.run(&["pull", NAME]).ok();
}

#[test]
fn short_names_are_those_below_the_folders_of_a_variable() {
    let Some(models) = shared::find("models") else { return };
    let program = Program::new().variable("HF_HOME", "hf").variable("ALLOQUY_MODELS", &models);
    let listed = program.run(&["models"]).ok().out;
    assert!(listed.lines().any(|line| line.starts_with("stories260k ")), "{listed}");
    program.run(&["complete", "--model", "stories260k", "--max-tokens", "4", "Once"]).ok();
}

/// What a person at a terminal is asked before anything is fetched.
#[cfg(unix)]
const OFFER: &str = "karpathy/stories-ONNX is not on this machine. Fetch ";

#[cfg(unix)]
#[test]
fn a_missing_model_is_offered_at_a_terminal() {
    let Some(World { server, program }) = World::new() else { return };
    let ask = ["ask", "--model", NAME, "--max-tokens", "4", "--temperature", "0", "Once"];
    let mut refusing = terminal::Terminal::start(program.command(&ask));
    refusing.wait_for(1, "now? [Y/n] ");
    let shown = refusing.text();
    let size = shown.split(OFFER).nth(1).unwrap();
    assert!(size.starts_with(|digit: char| digit.is_ascii_digit()) && size.contains("B now?"), "{shown}");
    refusing.type_in("n\r");
    assert_eq!(refusing.end().code(), Some(1));
    assert!(refusing.text().contains(&format!("`alloquy pull {NAME}` fetches it")), "{}", refusing.text());
    assert!(server.requests().iter().all(|request| !request.path.contains("resolve")), "nothing is fetched");

    let mut agreeing = terminal::Terminal::start(program.command(&ask));
    agreeing.wait_for(1, "now? [Y/n] ");
    agreeing.type_in("y\r");
    assert_eq!(agreeing.end().code(), Some(0), "{}", agreeing.text());
    let after = agreeing.text();
    let again = program.run(&ask).ok().out;
    assert!(after.contains(again.trim()), "{after:?} has no {again:?}");
}

/// A chat reads the keyboard itself, so it asks in another way.
#[cfg(unix)]
#[test]
fn a_chat_offers_a_missing_model_too_and_what_is_typed_ahead_is_no_answer() {
    let Some(World { server, program }) = World::new() else { return };
    let chat = ["chat", "--model", NAME, "--max-tokens", "4", "--no-history"];
    let mut terminal = terminal::Terminal::start(program.command(&chat));
    terminal.wait_until_taken();
    terminal.type_in("y\r");
    terminal.wait_for(1, "now? [Y/n] ");
    std::thread::sleep(std::time::Duration::from_millis(300));
    if terminal.text().contains("variant") {
        panic!("a line that was typed ahead has answered: {}", terminal.text());
    }
    terminal.type_in("y\r");
    terminal.wait_for(1, "stories-ONNX is ready");
    terminal.type_in("/exit\r");
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.text());
    assert!(server.requests().iter().any(|request| request.path.contains("resolve")));

    // Nor is Ctrl-C a yes.
    program.run(&["models", "rm", NAME]).ok();
    server.clear_requests();
    let mut terminal = terminal::Terminal::start(program.command(&chat));
    terminal.wait_for(1, "now? [Y/n] ");
    terminal.type_in("\u{3}");
    assert_eq!(terminal.end().code(), Some(130), "{}", terminal.text());
    assert!(server.requests().iter().all(|request| !request.path.contains("resolve")), "nothing is fetched");
}
