//! How a model is loaded: options reach it, and what became of them is said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::path::Path;

use program::Program;

/// A program whose cache is its own; the library is taken from where it is.
fn program(model: &Path) -> Program {
    let found = Program::new().run(&["doctor", "--json"]).events().remove(0);
    let checks = found["checks"].as_array().unwrap();
    let runtime = checks.iter().find(|check| check["check"] == "runtime").unwrap()["found"].as_str().unwrap();
    let library = runtime.split(" at ").nth(1).unwrap().split(", computes").next().unwrap().to_owned();
    let program = Program::new();
    let cache = program.path("cache");
    program
        .variable("ORT_DYLIB_PATH", library)
        .variable("ALLOQUY_CACHE", cache)
        .variable("ALLOQUY_MODEL", model)
}

#[test]
fn the_rewritten_graph_is_kept_and_loaded_the_next_time() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = program(&model);
    let load = || program.run(&["doctor", "--graph-cache"]).ok().err;
    assert!(!program.run(&["doctor"]).ok().err.contains("optimised graph"));
    assert!(!program.path("cache/graphs").exists());
    assert!(load().contains("the optimised graph is kept for the next time"));
    assert!(!load().contains("optimised graph"));
    let entry = std::fs::read_dir(program.path("cache/graphs")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(entry.join("model.onnx"), "no graph").unwrap();
    assert!(load().contains("the optimised graph that was kept could not be used and is written anew"));
    assert!(!load().contains("optimised graph"));
}

#[test]
fn how_far_the_graph_is_rewritten_can_be_said() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = program(&model);
    let basic = program.run(&["doctor", "--graph-optimization", "basic"]).ok();
    assert!(basic.out.contains("stories260k"), "{}", basic.out);
    let none = program.run(&["doctor", "--graph-optimization", "disable", "--graph-cache"]).ok().err;
    assert!(none.contains("the optimised graph is not kept: graphs are not optimised"), "{none}");
    let wrong = program.run(&["doctor", "--graph-optimization", "most"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("'most'"), "{}", wrong.err);
}

#[test]
fn an_adapter_that_is_not_there_is_a_problem() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let ran = program(&model).run(&["doctor", "--adapter", "french.onnx_adapter"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("has no adapter \"french.onnx_adapter\"; it has none"), "{}", ran.out);
}
