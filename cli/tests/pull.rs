//! Fetching models from a Hub by name, and what lists say of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

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
