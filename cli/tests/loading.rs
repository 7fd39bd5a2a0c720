//! How a model is loaded: options reach it, and what became of them is said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::fs;
use std::path::{Path, PathBuf};

use alloquy::onnx::{Gpu, Locator, Wheel};
use program::{Program, Ran};

/// A program whose cache is its own; the library is taken from where it is.
fn program(model: &Path) -> Program {
    let library = library();
    let program = Program::new();
    let cache = program.path("cache");
    program
        .variable("ORT_DYLIB_PATH", library)
        .variable("ALLOQUY_CACHE", cache)
        .variable("ALLOQUY_MODEL", model)
}

/// The library of ONNX Runtime, which is fetched where there is none.
fn library() -> PathBuf {
    Locator::new().locate(|event| eprintln!("{event}")).unwrap().path
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
    assert!(load().contains("the optimised graph that was kept could not be used and is written again"));
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
fn number_types_of_8_bits_say_how_much_the_model_changes() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = program(&model);
    for flag in ["--kv-cache", "--cache"] {
        let quantized = program.run(&["doctor", "--graph-cache", flag, "int8"]).ok().err;
        assert!(quantized.contains("with the chosen number types: over 384 tokens, "), "{quantized}");
    }
    let exported = program.run(&["doctor", "--kv-cache", "exported"]).ok().err;
    assert!(!exported.contains("number types"), "{exported}");
    let refused = program.run(&["doctor", "--matmul", "int8"]);
    let said = format!("{}{}", refused.out, refused.err);
    assert_ne!(refused.code, Some(0), "{said}");
    assert!(
        said.contains("cannot have products in int8: it has no products with weights of few bits"),
        "{said}"
    );
}

#[test]
fn an_adapter_that_is_not_there_is_a_problem() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let ran = program(&model).run(&["doctor", "--adapter", "french.onnx_adapter"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("has no adapter \"french.onnx_adapter\"; it has none"), "{}", ran.out);
}

#[test]
fn a_provider_that_this_build_does_not_have_is_refused_before_anything_is_fetched() {
    let program = Program::new();
    for name in ["cuda", "webgpu", "coreml", "directml"] {
        let built = alloquy::onnx::providers().any(|built| built == name);
        if built {
            continue;
        }
        let said = format!(
            "execution provider \"{name}\" is not available in this build, one of: {}; build it with the feature \"{name}\"",
            alloquy::onnx::providers().collect::<Vec<_>>().join(", ")
        );
        let cache = program.path("cache");
        let mut ask = program.command(&["ask", "--provider", name, "Hello"]);
        let ran = Ran::from(ask.env_remove("ORT_DYLIB_PATH").env("ALLOQUY_CACHE", &cache).output().unwrap());
        assert!(ran.code == Some(1) && ran.err.contains(&said), "{ran:?}");
        assert!(!cache.exists());
        let ran = program.run(&["doctor", "--provider", name]);
        assert!(ran.code == Some(1) && ran.out.contains(&said), "{ran:?}");
    }
}

#[test]
fn the_doctor_measures_providers_and_auto_is_the_fastest_of_them() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = program(&model);
    let text = program.run(&["doctor", "--providers"]).ok().out;
    let line = text.lines().find(|line| line.starts_with("usable   cpu ")).unwrap();
    assert!(
        line.contains(" tokens a second, loaded in ") && line.ends_with(" nodes on the processor"),
        "{line}"
    );
    let document = program.run(&["doctor", "--providers", "--json"]).ok().events().remove(0);
    let providers = document["providers"].as_array().unwrap();
    assert_eq!(providers.len(), alloquy::onnx::providers().count());
    let cpu = providers.iter().find(|provider| provider["provider"] == "cpu").unwrap();
    assert!(cpu["ok"] == true && cpu["tokens_per_second"].as_f64().unwrap() > 0.0, "{cpu}");
    assert_eq!(cpu["nodes"], cpu["nodes_on_cpu"]);
    assert!(program.run(&["doctor", "--json"]).ok().events().remove(0).get("providers").is_none());
    let auto = program.run(&["complete", "--provider", "auto", "--max-tokens", "4", "Once"]).ok();
    assert!(auto.err.contains(" computes, as the "), "{}", auto.err);
    assert_eq!(auto.out, program.run(&["complete", "--max-tokens", "4", "Once"]).ok().out);
    // Without a model that can be loaded, nothing can be measured.
    let broken = program.path("broken");
    fs::create_dir(&broken).unwrap();
    let ran = program.run(&["doctor", "--providers", "--model", broken.to_str().unwrap()]);
    assert!(ran.code == Some(1) && ran.out.contains("problem  providers "), "{}", ran.out);
}

/// Runs the doctor where there is no library, with a Python that notes what it is asked for.
#[cfg(unix)]
fn doctor_without_a_library(program: &Program, variables: &[(&str, &str)]) -> Ran {
    use std::os::unix::fs::PermissionsExt as _;

    let bin = program.path("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        let script = format!("#!/bin/sh\necho \"$@\" >> {}\n", program.path("asked").display());
        fs::write(bin.join("python3"), script).unwrap();
        fs::set_permissions(bin.join("python3"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = program.command(&["doctor"]);
    command.env_remove("ORT_DYLIB_PATH").env("ALLOQUY_CACHE", program.path("cache")).env("PATH", bin);
    command.envs(variables.iter().copied());
    Ran::from(command.output().unwrap())
}

#[cfg(unix)]
#[test]
fn the_doctor_says_what_the_first_question_fetches_and_fetches_nothing() {
    let program = Program::new();
    let ran = doctor_without_a_library(&program, &[]).ok();
    let megabytes = Wheel::pinned(Gpu::None).unwrap().bytes.div_ceil(1_000_000);
    let said = format!("ONNX Runtime is not here yet; the first question fetches it ({megabytes} MB)");
    assert!(ran.out.contains(&said), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.starts_with("ok ")), "{}", ran.out);
    assert!(ran.out.contains("it was not loaded, as the runtime is not here yet"), "{}", ran.out);
    assert!(!fs::read_to_string(program.path("asked")).unwrap().contains("download"));
    assert!(!program.path("cache").exists());
    let offline = doctor_without_a_library(&program, &[("ALLOQUY_OFFLINE", "1")]);
    assert_eq!(offline.code, Some(1));
    assert!(offline.out.contains("it is not fetched because ALLOQUY_OFFLINE is set"), "{}", offline.out);
    let nowhere = program.path("nowhere");
    let without_python = doctor_without_a_library(&program, &[("PATH", nowhere.to_str().unwrap())]);
    assert_eq!(without_python.code, Some(1));
    assert!(without_python.out.contains("none of python3, python can be run"), "{}", without_python.out);
    let releases =
        "download it from https://github.com/microsoft/onnxruntime/releases and set ORT_DYLIB_PATH";
    assert!(without_python.out.contains(releases), "{}", without_python.out);
    fs::write(program.path("bin/python3"), "#!/bin/sh\nexit 1\n").unwrap();
    let without_pip = doctor_without_a_library(&program, &[]);
    assert_eq!(without_pip.code, Some(1));
    assert!(
        without_pip.out.contains("python3 has no pip that could fetch onnxruntime"),
        "{}",
        without_pip.out
    );
    assert!(!program.path("cache").exists());
    for ran in [offline, without_python, without_pip] {
        assert!(ran.out.contains(releases) && !ran.out.contains("xtask"), "{}", ran.out);
        assert!(
            ran.out.contains("it was not loaded, because of the problem with the runtime"),
            "{}",
            ran.out
        );
        assert!(!ran.err.contains("downloading"), "{}", ran.err);
    }
}

/// A cache of the program's own with the library in it, as an earlier version installed it: without a list. `None`, said aloud, where
/// the library of this machine is another one than what is pinned.
#[cfg(unix)]
fn cached(program: &Program) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;

    let wheel = Wheel::pinned(Gpu::None).unwrap();
    let library = library();
    if library.file_name().unwrap() != wheel.library.name {
        eprintln!("Skipping: {} is not the pinned library", library.display());
        return None;
    }
    let folder = program.path("cache").join("onnxruntime").join(wheel.version);
    fs::create_dir_all(&folder).unwrap();
    for above in [program.folder(), &program.path("cache"), &program.path("cache/onnxruntime"), &folder] {
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let copy = folder.join(wheel.library.name);
    fs::copy(library, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644)).unwrap();
    Some(copy)
}

#[cfg(unix)]
#[test]
fn a_library_in_the_cache_is_what_was_installed_and_nobody_elses_or_an_error() {
    use std::os::unix::fs::PermissionsExt as _;

    let program = Program::new();
    let Some(library) = cached(&program) else { return };
    let folder = library.parent().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = program.command(arguments);
        command.env_remove("ORT_DYLIB_PATH").env("ALLOQUY_CACHE", program.path("cache"));
        Ran::from(command.output().unwrap())
    };
    let ask: &[&str] = &["ask", "-q", "--max-tokens", "1", "Hello"];
    // What lies beside it does not count.
    fs::write(folder.join("libonnxruntime.so"), "planted").unwrap();
    run(ask).ok();
    assert!(run(&["doctor"]).ok().out.contains(library.to_str().unwrap()));
    let refused = |said: &str| {
        for arguments in [ask, &["doctor"]] {
            let ran = run(arguments);
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert!(ran.err.contains(said) || ran.out.contains(said), "{said}: {ran:?}");
        }
    };
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    refused("may be changed by others (its mode is 777)");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let whole = fs::metadata(&library).unwrap().len();
    fs::File::options().write(true).open(&library).unwrap().set_len(10_000_000).unwrap();
    refused("it has 10000000 bytes instead of");
    fs::File::options().write(true).open(&library).unwrap().set_len(whole).unwrap();
    refused("its SHA-256 is");
    // One that is named is not compared with anything, but it has to be all there.
    fs::File::options().write(true).open(&library).unwrap().set_len(10_000_000).unwrap();
    let ran = Ran::from(program.command(&["doctor"]).env("ORT_DYLIB_PATH", &library).output().unwrap());
    assert!(ran.code == Some(1) && ran.out.contains("is not a whole library"), "{ran:?}");
}
