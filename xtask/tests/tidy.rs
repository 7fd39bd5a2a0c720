//! The workspace is tidy, and tidy finds every defect that is planted.

#![allow(clippy::unwrap_used)] // a test may panic

mod planted;

use planted::assert_found;
use xtask::{Finding, Tree, root, untidy};

const MANIFEST: &str = "[package]\nname = \"a\"\ndescription = \"A\"\nversion.workspace = true\n\
edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\n[lints]\nworkspace = true\n";

const FAMILIES: &str = "//! Families.\nmod gemma;\nmod qwen;\n\nstatic FAMILIES: &[&Family] = &[\n    &gemma::FAMILY,\n    \
&qwen::FAMILY,\n];\n";

/// A tree with nothing to put right.
const TIDY: [(&str, &str); 7] = [
    ("LICENSE-APACHE", "Apache License\n"),
    ("LICENSE-MIT", "MIT License\n"),
    ("core/Cargo.toml", MANIFEST),
    ("core/src/lib.rs", "//! A library.\n"),
    ("processors/src/families/gemma.rs", "//! Family: Gemma\n"),
    ("processors/src/families/mod.rs", FAMILIES),
    ("processors/src/families/qwen.rs", "//! Family: Qwen\n"),
];

/// What tidy finds in a tidy tree where `path` says `text`.
fn with(path: &str, text: &str) -> Vec<Finding> {
    let mut files: Vec<_> = TIDY.into_iter().filter(|(other, _)| *other != path).collect();
    files.push((path, text));
    untidy(&planted::tree(&files))
}

#[track_caller]
fn assert_tidy(findings: &[Finding]) {
    let found: Vec<_> = findings.iter().map(Finding::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_workspace_is_tidy() {
    assert_tidy(&untidy(&Tree::read(&root()).unwrap()));
}

#[test]
fn a_tidy_tree_has_no_findings() {
    assert_tidy(&untidy(&planted::tree(&TIDY)));
}

#[test]
fn a_file_without_a_header_is_found() {
    assert_found(&with("core/src/a.rs", "mod b;\n"), "core/src/a.rs:1", "`//!`");
}

#[test]
fn library_code_that_prints_is_found() {
    for print in ["println", "eprintln", "print", "eprint", "dbg"] {
        let text = format!("//! A.\nfn a() {{\n    {print}!(\"a\");\n}}\n");
        for folder in
            ["core", "media", "templates", "processors", "storage", "backends/onnx", "backends/onnx/runtime"]
        {
            let path = format!("{folder}/src/a.rs");
            assert_found(&with(&path, &text), &format!("{path}:3"), "in a library");
        }
        assert_tidy(&with("cli/src/screen.rs", &text));
        assert_found(&with("cli/src/a.rs", &text), "cli/src/a.rs:3", "through screen.rs");
    }
}

#[test]
fn tests_examples_and_documentation_may_print() {
    let print = "//! A.\nfn a() {\n    println!(\"a\");\n}\n";
    for path in ["core/tests/a.rs", "core/examples/a.rs", "core/src/a/tests.rs"] {
        assert_tidy(&with(path, print));
    }
    let documented = "//! A.\n/// `println!(\"a\")`\nfn a() {}\n";
    assert_tidy(&with("core/src/a.rs", documented));
    let tested = "//! A.\n\n#[cfg(test)]\nmod tests {\n    fn a() {\n        println!(\"a\");\n    }\n}\n";
    assert_tidy(&with("core/src/a.rs", tested));
    let above = "//! A.\n\n#[cfg(test)]\nmod tests;\n\nfn a() {\n    println!(\"a\");\n}\n";
    assert_found(&with("core/src/a.rs", above), "core/src/a.rs:7", "in a library");
}

#[test]
fn a_family_without_its_lines_is_found() {
    let path = "processors/src/families/llama.rs";
    let findings = with(path, "//! Family: Llama\n");
    assert_found(&findings, "processors/src/families/mod.rs:1", "`mod llama;`");
    assert_found(&findings, "processors/src/families/mod.rs:1", "`&llama::FAMILY,`");
}

#[test]
fn families_out_of_order_are_found() {
    let table = "//! Families.\nmod qwen;\nmod gemma;\n\n&qwen::FAMILY,\n&gemma::FAMILY,\n";
    let findings = with("processors/src/families/mod.rs", table);
    assert_found(&findings, "processors/src/families/mod.rs:3", "sorted");
    assert_found(&findings, "processors/src/families/mod.rs:6", "sorted");
}

#[test]
fn a_table_of_one_line_is_read() {
    let table = "//! Families.\nmod gemma;\nmod qwen;\n\nstatic FAMILIES: [&Family; 2] = [&qwen::FAMILY, &gemma::FAMILY];\n";
    let findings = with("processors/src/families/mod.rs", table);
    assert_found(&findings, "processors/src/families/mod.rs:5", "sorted");
    assert_eq!(findings.len(), 1, "{findings:?}");
}

#[test]
fn families_without_a_table_are_found() {
    let files: Vec<_> = TIDY.into_iter().filter(|(path, _)| !path.ends_with("mod.rs")).collect();
    assert_found(&untidy(&planted::tree(&files)), "processors/src/families:1", "no table");
}

#[test]
fn stray_whitespace_is_found() {
    assert_found(&with("core/src/a.rs", "//! A. \n"), "core/src/a.rs:1", "trailing");
    assert_found(&with("docs/a.md", "A\r\n"), "docs/a.md:1", "trailing");
    assert_found(&with("a.toml", "a = [\n\t1,\n]\n"), "a.toml:2", "tab");
    assert_tidy(&with("core/tests/fixtures/a.md", "A \t\n"));
}

/// A function of `lines` lines of code, below `head`.
fn function(head: &str, lines: usize) -> String {
    format!(
        "//! A.\n\n{head}pub(crate) fn a(\n    b: u8,\n) {{\n{}}}\n\nfn c() {{}}\n",
        "    a();\n".repeat(lines)
    )
}

#[test]
fn a_long_function_without_a_reason_is_found() {
    let findings = with("core/src/a.rs", &function("", 61));
    assert_found(&findings, "core/src/a.rs:3", "61 lines");
    let silenced = function("#[allow(clippy::too_many_lines)]\n", 61);
    assert_found(&with("core/src/a.rs", &silenced), "core/src/a.rs:4", "61 lines");
    let in_impl = function("", 61).replace('\n', "\n    ").replace("    //!", "//!").replace("    \n", "\n");
    assert_found(&with("core/src/a.rs", in_impl.trim_end_matches(' ')), "core/src/a.rs:3", "61 lines");
}

#[test]
fn a_long_function_with_a_reason_passes() {
    assert_tidy(&with("core/src/a.rs", &function("", 60)));
    let reason = "/// B.\n#[allow(clippy::too_many_lines)] // one arm an operation\n#[inline]\n";
    assert_tidy(&with("core/src/a.rs", &function(reason, 61)));
}

#[test]
fn a_long_file_is_found_and_its_tests_do_not_count() {
    let code = "//! A.\n".to_owned() + &"const A: u8 = 0;\n".repeat(500);
    assert_found(&with("core/src/a.rs", &code), "core/src/a.rs:1", "501 lines");
    assert_tidy(&with("core/tests/a.rs", &code));
    let tests = format!("//! A.\n\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    const A: u8 = 0;\n".repeat(500));
    assert_tidy(&with("core/src/a.rs", &tests));
}

#[test]
fn a_member_that_does_not_describe_itself_is_found() {
    for key in ["description", "version", "edition", "rust-version", "license"] {
        let lines = MANIFEST.lines().filter(|line| !line.starts_with(key));
        let manifest = lines.collect::<Vec<_>>().join("\n");
        assert_found(&with("core/Cargo.toml", &manifest), "core/Cargo.toml:1", &format!("`{key}`"));
    }
}

#[test]
fn a_member_with_lints_of_its_own_is_found() {
    let none = MANIFEST.replace("[lints]\nworkspace = true\n", "");
    assert_found(&with("core/Cargo.toml", &none), "core/Cargo.toml:1", "lints");
    let own = MANIFEST.replace("[lints]\nworkspace", "[lints.rust]\nunsafe_code");
    assert_found(&with("core/Cargo.toml", &own), "core/Cargo.toml:1", "lints");
}

#[test]
fn an_older_compiler_than_that_of_ci_is_found() {
    let toolchain = ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.95.0\"\n");
    let workspace = |version: &str| format!("[workspace.package]\nrust-version = \"{version}\"\n");
    let found =
        |text: &str| untidy(&planted::tree(&[TIDY.as_slice(), &[toolchain, ("Cargo.toml", text)]].concat()));
    assert_tidy(&found(&workspace("1.95")));
    assert_found(&found(&workspace("1.85")), "Cargo.toml:1", "1.95.0");
    assert_found(&found("[workspace]\n"), "Cargo.toml:1", "1.95.0");
}

#[test]
fn a_registry_of_ones_own_is_found() {
    let source = "[[package]]\nname = \"a\"\nsource = \"registry+https://example.org/index\"\n";
    assert_found(&with("Cargo.lock", source), "Cargo.lock:3", "crates.io");
    let setting = ["--index", "-url https://example.org a\n"].concat();
    assert_found(&with(".ci/run", &setting), ".ci/run:1", "registry");
}

#[test]
fn a_path_of_one_machine_is_found() {
    for home in [["/ho", "me/"], ["/ro", "ot/"], ["/Us", "ers/"]] {
        let path = home.concat() + "someone/models";
        assert_found(&with("docs/a.md", &format!("In {path}.\n")), "docs/a.md:1", "one machine");
        assert_tidy(&with("docs/a.md", &format!("In the{} folder.\n", home.concat())));
    }
}

#[test]
fn the_path_of_the_checkout_is_found() {
    let mut tree = planted::tree(&TIDY);
    tree.root = "/builds/alloquy".into();
    let library = tree.files.iter_mut().find(|file| file.path == "core/src/lib.rs").unwrap();
    library.text += "// See /builds/alloquy/docs, not src/builds/alloquy/docs.\n";
    assert_found(&untidy(&tree), "core/src/lib.rs:2", "/builds/alloquy/");
}

#[test]
fn a_missing_licence_is_found() {
    assert_found(&with("LICENSE-MIT", "\n"), "LICENSE-MIT:1", "MIT License");
    let files: Vec<_> = TIDY.into_iter().filter(|(path, _)| *path != "LICENSE-APACHE").collect();
    assert_found(&untidy(&planted::tree(&files)), "LICENSE-APACHE:1", "Apache License");
}

#[test]
fn words_that_break_an_invariant_are_found() {
    for (path, words, sentence) in [
        ("core/src/a.rs", "std::fs::read(path)", "core does no I/O"),
        ("core/src/a.rs", "fs::read(path)", "core does no I/O"),
        ("core/src/a.rs", "thread::spawn(work)", "core starts no thread"),
        ("inference/src/a.rs", "std::fs::read(path)", "inference does no I/O"),
        ("inference/src/a.rs", "thread::spawn(work)", "generator"),
        ("core/src/turn.rs", "processor.prompt_parts(text, source)", "language model"),
        ("inference/src/splice.rs", "processor.prompt_parts(text, source)", "language model"),
        ("core/src/tree.rs", "Node::new(None, message)", "nodes"),
        ("core/src/tree.rs", "common_prefix(&held, &prompt)", "slots.rs"),
        ("inference/src/splice.rs", "common_prefix(&held, &prompt)", "slots.rs"),
        ("processors/src/a.rs", "std::env::var(name)", "no I/O"),
        ("processors/src/a.rs", "SystemTime::now()", "clock"),
    ] {
        let text = format!("//! A.\nfn a() {{\n    {words};\n}}\n");
        assert_found(&with(path, &text), &format!("{path}:3"), sentence);
        assert_tidy(&with("testing/src/a.rs", &text));
        assert_tidy(&with("storage/src/a.rs", &text));
    }
    assert_tidy(&with("inference/src/generator/slots.rs", "//! A.\nfn a() {\n    common_prefix(b, c);\n}\n"));
    assert_tidy(&with("processors/src/a/tests.rs", "//! A.\nfn a() {\n    fs::read(path);\n}\n"));
    assert_tidy(&with("core/src/a.rs", "//! A.\nfn a() {\n    my_fs::read(path);\n}\n"));
}

#[test]
fn a_test_that_is_named_and_not_there_is_found() {
    let page = "# A\n\n*Held by* `a_law_that_is_gone` and `tidy`.\n";
    for path in ["docs/architecture.md", "docs/reliability.md"] {
        assert_found(&with(path, page), &format!("{path}:3"), "`a_law_that_is_gone`");
    }
    let there = page.replace("a_law_that_is_gone", "a_law_that_is_there");
    let mut tree = planted::tree(&[TIDY.as_slice(), &[("docs/architecture.md", &there)]].concat());
    tree.files.iter_mut().find(|file| file.path == "core/src/lib.rs").unwrap().text +=
        "fn a_law_that_is_there() {}\n";
    assert_tidy(&untidy(&tree));
}

#[test]
fn a_machine_of_a_release_that_is_not_everywhere_is_found() {
    let root = xtask::root();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let workflow =
        read(".github/workflows/release.yml").replace("- target: aarch64-apple-darwin", "- target: plan9");
    let line = workflow.lines().position(|line| line.contains("plan9")).unwrap() + 1;
    let page = read("docs/install.md").replace("VERSION-x86_64-pc-windows-msvc", "VERSION-windows");
    let mut files = TIDY.to_vec();
    files.push((".github/workflows/release.yml", &workflow));
    files.push(("docs/install.md", &page));
    let findings = untidy(&planted::tree(&files));
    let place = format!(".github/workflows/release.yml:{line}");
    assert_found(&findings, &place, "xtask/src/dist.rs");
    assert_found(&findings, ".github/workflows/release.yml:1", "aarch64-apple-darwin");
    assert_found(&findings, "docs/install.md:1", "x86_64-pc-windows-msvc");
}

#[test]
fn commands_for_people_and_workflows_that_fail_are_found() {
    let manifest = format!("{MANIFEST}\n[features]\nmcp = []\n");
    for (path, line, sentence) in [
        (".github/workflows/a.yml", "run: cargo xtask launch --far", "`cargo xtask launch` does not exist"),
        (".github/workflows/a.yml", "run: bash cli/dist/gone x.deb", "cli/dist/gone does not exist"),
        ("docs/a.md", "`cargo install --path cli` installs it.", "without --locked"),
        ("docs/a.md", "`cargo install --path cli --locked --features mpc` installs it.", "\"mpc\""),
    ] {
        let text = format!("# A\n\n{line}\n");
        let files = [TIDY.as_slice(), &[("cli/Cargo.toml", manifest.as_str()), (path, &text)]].concat();
        assert_found(&untidy(&planted::tree(&files)), &format!("{path}:3"), sentence);
    }
    let fine = "`cargo install --path cli --locked --features mcp`, and `cargo build --features NAME`\n";
    let files = [TIDY.as_slice(), &[("cli/Cargo.toml", manifest.as_str()), ("docs/a.md", fine)]].concat();
    assert_tidy(&untidy(&planted::tree(&files)));
}

#[test]
fn a_file_of_the_package_that_does_not_exist_is_found() {
    let assets = "assets = [\n    [\"target/release/a\", \"usr/bin/\", \"755\"],\n    [\"dist/gone\", \"usr/share/\", \"644\"],\n]\n";
    let manifest = format!("{MANIFEST}\n[package.metadata.deb]\n{assets}");
    let line = manifest.lines().position(|line| line.contains("gone")).unwrap() + 1;
    let findings = with("cli/Cargo.toml", &manifest);
    assert_found(&findings, &format!("cli/Cargo.toml:{line}"), "cli/dist/gone does not exist");
}
