//! Documents on the command line: indexed, listed, searched, measured, watched, and cited by answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;
#[cfg(unix)]
mod terminal;

use program::Program;
use serde_json::{Value, json};

/// A program with a folder of documents, and files that are none.
fn program() -> Program {
    let program = Program::new();
    std::fs::create_dir_all(program.path("docs/sub")).unwrap();
    program.write(
        "docs/tea.md",
        "# Tea\n\n## Origin\n\nTea is grown in Assam.\n\n## Kinds\n\nGreen and black.\n",
    );
    program.write("docs/sub/coffee.html", "<h1>Coffee</h1><p>Coffee is grown in Kona.");
    program
}

/// Returns the names of the documents.
fn names(program: &Program) -> Vec<String> {
    let listed = program.run(&["index", "list"]).ok().out;
    listed.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

fn json_of(program: &Program, arguments: &[&str]) -> Value {
    program.run(&[arguments, &["--json"]].concat()).ok().events().remove(0)
}

#[test]
fn documents_are_added_listed_searched_and_removed() {
    let program = program();
    let added = program.run(&["index", "add", "./docs/"]).ok();
    assert_eq!(added.out, "2 documents read: 3 passages added, 0 kept, 0 removed\n");
    assert_eq!(names(&program), ["docs/sub/coffee.html", "docs/tea.md"]);
    let again = json_of(&program, &["index", "add", "docs"]);
    assert_eq!((&again["added"], &again["kept"], &again["skipped"]), (&json!(0), &json!(3), &json!([])));

    let found = program.run(&["index", "search", "Where", "is", "tea", "grown?"]).ok().out;
    let first: Vec<_> = found.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[1..3], ["docs/tea.md", "Tea > Origin"], "{found}");
    for (flag, name) in [("--words", "words"), ("--vectors", "vectors")] {
        let found = json_of(&program, &["index", "search", flag, "--limit", "1", "Assam"]);
        assert_eq!(found["retriever"], name);
        assert_eq!(found["passages"].as_array().unwrap().len(), 1, "{found}");
        assert_eq!(found["passages"][0]["metadata"]["heading"], "Tea > Origin");
    }
    let html = json_of(&program, &["index", "search", "--where", "ending=html", "grown"]);
    assert_eq!(html["passages"][0]["source"], "docs/sub/coffee.html");
    assert_eq!(json_of(&program, &["index", "search", "--limit", "0", "tea"])["passages"], json!([]));

    let removed = program.run(&["index", "remove", "./docs/sub/"]).ok();
    assert_eq!(removed.out, "docs/sub/coffee.html\n");
    assert_eq!(names(&program), ["docs/tea.md"]);
    assert!(program.path("docs/sub/coffee.html").exists());
    let wrong = program.run(&["index", "remove", "docs/tea.md", "nope.md"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("\"nope.md\"") && wrong.err.contains("alloquy index list"), "{}", wrong.err);
    assert_eq!(names(&program), ["docs/tea.md"]);
}

#[test]
fn only_files_that_are_gone_are_pruned_and_only_below_the_named_folders() {
    let program = program();
    std::fs::create_dir(program.path("more")).unwrap();
    program.write("more/milk.txt", "Milk comes from cows.");
    program.run(&["index", "add", "docs", "more"]).ok();
    std::fs::remove_file(program.path("docs/sub/coffee.html")).unwrap();
    std::fs::remove_file(program.path("more/milk.txt")).unwrap();
    program.run(&["index", "add", "docs"]).ok();
    assert_eq!(names(&program).len(), 3, "without --prune they stay");
    let pruned = json_of(&program, &["index", "add", "docs", "--prune"]);
    assert_eq!(pruned["removed"], 1);
    assert_eq!(names(&program), ["docs/tea.md", "more/milk.txt"]);
    // A file that is too large now is not gone.
    json_of(&program, &["index", "add", "docs", "--prune", "--file-bytes", "10"]);
    assert_eq!(names(&program), ["docs/tea.md", "more/milk.txt"]);
}

#[test]
fn files_of_two_projects_never_replace_each_other() {
    let program = Program::new();
    for (project, text) in [("a", "Tea is grown in Assam."), ("b", "Coffee is grown in Kona.")] {
        std::fs::create_dir_all(program.path(project).join("docs")).unwrap();
        program.write(&format!("{project}/docs/notes.txt"), text);
    }
    let add = |project: &str, arguments: &[&str]| {
        let arguments = [&["index", "add", "--json"], arguments].concat();
        let output = program.command(&arguments).current_dir(program.path(project)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(add("a", &["docs"])["added"], 1);
    let refused = add("b", &["docs", "--prune"]);
    assert_eq!((&refused["documents"], &refused["removed"]), (&json!(0), &json!(0)), "{refused}");
    let reason = refused["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("a/docs/notes.txt"), "{reason}");

    let whole = program.path("b/docs");
    assert_eq!(add("b", &[whole.to_str().unwrap()])["added"], 1);
    assert_eq!(names(&program).len(), 2);
    // A project that was moved keeps its names.
    std::fs::rename(program.path("a"), program.path("c")).unwrap();
    assert_eq!(add("c", &["docs"])["documents"], 1);
    assert_eq!(names(&program).len(), 2);
}

#[test]
fn flags_that_have_no_effect_are_refused() {
    let program = program();
    for (flag, needed) in
        [("--passages=3", "--documents"), ("--memory-notes=3", "--memory"), ("--memory-tokens=9", "--memory")]
    {
        let ran = program.run(&["ask", flag, "Hello!"]);
        assert_eq!(ran.code, Some(2), "{flag}");
        assert!(ran.err.contains(&format!("without {needed}")), "{}", ran.err);
    }
    program.write("config.toml", "passages = 3\nmemory-notes = 3\n");
    let config = program.path("config.toml");
    program.run(&["ask", "--config", config.to_str().unwrap(), "Hello!"]).ok();
}

#[cfg(unix)]
#[test]
fn what_is_no_document_is_named_with_the_reason() {
    let program = program();
    for (name, bytes) in
        [("zero.dat", &b"a\0b"[..]), ("latin.txt", b"\xe9t\xe9"), ("page.pdf", b"%PDF-1"), (".hidden", b"x")]
    {
        std::fs::write(program.path("docs").join(name), bytes).unwrap();
    }
    program.write("docs/long.txt", &"long ".repeat(100));
    program.write("docs/empty.md", " \n");
    std::os::unix::fs::symlink("tea.md", program.path("docs/link.md")).unwrap();
    let added = program.run(&["index", "add", "docs", "--file-bytes", "400"]).ok();
    let lines = [
        "docs/zero.dat is left out: it is no text",
        "docs/latin.txt is left out: it is no text: byte 0 is not UTF-8",
        "docs/page.pdf is left out: it is PDF",
        "docs/.hidden is left out: it is hidden",
        "docs/link.md is left out: it is a link",
        "docs/long.txt is left out: it has 500 bytes, and --file-bytes allows 400",
        "docs/empty.md is left out: it has no text",
    ];
    for line in lines {
        assert!(added.err.lines().any(|said| said.starts_with(line)), "{line}: {}", added.err);
    }
    assert_eq!(added.out, "2 documents read: 3 passages added, 0 kept, 0 removed\n");
    // A file that is named is no accident.
    program.run(&["index", "add", "docs/.hidden", "docs/link.md"]).ok();
    assert_eq!(names(&program).len(), 4);
}

#[test]
fn an_index_within_a_folder_does_not_index_itself() {
    let program = program();
    program.run(&["index", "add", "."]).ok();
    assert!(program.path("index").is_dir(), "it is beside the store");
    let again = program.run(&["index", "add", "."]).ok();
    assert!(again.err.contains("index is left out: it is the folder of the index"), "{}", again.err);
    assert_eq!(names(&program), ["docs/sub/coffee.html", "docs/tea.md"]);
}

#[test]
fn an_index_keeps_what_it_was_made_with() {
    let program = program();
    program.run(&["index", "add", "docs", "--stems", "EN", "--chunk", "40", "--embedder", "none"]).ok();
    let listed = json_of(&program, &["index", "list"]);
    assert_eq!(listed["settings"]["words"]["stems"], "english");
    assert_eq!((&listed["settings"]["limit"], &listed["settings"]["overlap"]), (&json!(40), &json!(20)));
    assert_eq!((&listed["embedder"], listed["version"].as_str().unwrap().len()), (&json!("none"), 64));
    let found = json_of(&program, &["index", "search", "teas"]);
    assert_eq!((&found["retriever"], found["passages"].as_array().unwrap().len()), (&json!("words"), 2));
    program.run(&["index", "add", "docs"]).ok();

    let cases: [(&[&str], i32, &str); 8] = [
        (&["add", "docs", "--chunk", "50"], 1, "given: 50 words"),
        (&["add", "docs", "--embedder", "ngrams"], 1, "the embedder of the index: none"),
        (&["search", "--vectors", "tea"], 1, "has no vectors"),
        (
            &["add", "docs", "--embedder", "minilm"],
            2,
            "\"minilm\" is no embedder: write the folder of a model",
        ),
        (&["search", "tea", "--embedder", "minilm"], 2, "\"minilm\" is no embedder"),
        (&["add", "docs", "--stems", "klingon"], 2, "'klingon'"),
        (&["add", "docs", "--overlap", "30"], 2, "at most half of it"),
        (&["add", "nowhere"], 1, "\"nowhere\" does not exist"),
    ];
    for (arguments, code, text) in cases {
        let ran = program.run(&[&["index"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn without_an_index_its_absence_is_reported_and_nothing_is_made() {
    let program = program();
    for arguments in [&["index", "list"][..], &["index", "search", "tea"], &["ask", "--documents", "Tea?"]] {
        let ran = program.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}");
        assert!(ran.err.contains("alloquy index add FOLDER"), "{arguments:?}: {}", ran.err);
    }
    program.run(&["index", "add", "nowhere"]);
    assert!(!program.path("index").exists());
}

#[test]
fn owners_and_folders_have_documents_of_their_own() {
    let program = program();
    program.run(&["index", "add", "docs/tea.md", "--owner", "ann"]).ok();
    program.run(&["index", "add", "docs/sub", "--index", "other"]).ok();
    assert_eq!(names(&program), Vec::<String>::new());
    assert_eq!(program.run(&["index", "list", "--owner", "ann"]).ok().out.lines().count(), 1);
    program.write("config.toml", "index = \"other\"\n");
    let listed = program.run(&["index", "list", "--config", "config.toml"]).ok().out;
    assert!(listed.starts_with("docs/sub/coffee.html\t1\t42\t"), "{listed}");
}

#[test]
fn an_index_is_measured_by_judged_questions() {
    let program = program();
    program.run(&["index", "add", "docs"]).ok();
    let questions = [
        json!({"question": "Where is tea grown?", "answers": [{"source": "docs/tea.md", "heading": "Origin"}]}),
        json!({"question": "Where is coffee grown?", "answers": [{"source": "docs/sub/coffee.html"}]}),
    ];
    program.write("questions.jsonl", &questions.map(|question| format!("{question}\n")).concat());
    let measured = program.run(&["index", "eval", "questions.jsonl"]).ok();
    assert_eq!(
        measured.out.lines().map(|line| line.split('\t').next().unwrap()).collect::<Vec<_>>(),
        ["words", "vectors", "hybrid"]
    );
    assert!(
        measured.out.starts_with("words\t1.000\t1.000\t1.000\n") && measured.err.is_empty(),
        "{measured:?}"
    );
    let measured = json_of(&program, &["index", "eval", "questions.jsonl"]);
    assert_eq!((&measured["questions"], &measured["retrievers"][2]["mrr"]), (&json!(2), &json!(1.0)));

    program.write("elsewhere.jsonl", r#"{"question": "Tea?", "answers": [{"source": "tea.md"}]}"#);
    let measured = program.run(&["index", "eval", "elsewhere.jsonl"]).ok();
    assert!(measured.err.contains("lacks documents that have answers: tea.md"), "{}", measured.err);
    program.write("bad.jsonl", "{\"question\": 1}\n");
    for (file, text) in [
        ("bad.jsonl", "line 1 is no judged question"),
        ("none.jsonl", "cannot be read"),
        ("empty.jsonl", "has no question"),
    ] {
        if file == "empty.jsonl" {
            program.write(file, "\n");
        }
        let ran = program.run(&["index", "eval", file]);
        assert!(ran.code == Some(1) && ran.err.contains(text), "{file}: {}", ran.err);
    }
}

#[test]
fn hostile_texts_move_no_cursor() {
    let program = Program::new();
    std::fs::create_dir(program.path("docs")).unwrap();
    program.write("docs/a\u{1b}]0;b.md", "# Tea\u{1b}[2J\n\nTea\u{9b}2J is \u{202e}grown.\n");
    for arguments in [
        &["index", "add", "docs"][..],
        &["index", "list"],
        &["index", "search", "tea"],
        &["index", "search", "tea", "--json"],
    ] {
        let ran = program.run(arguments).ok();
        let is_control = |sign: char| sign.is_control() && !matches!(sign, '\n' | '\t');
        assert!(!(ran.out + &ran.err).contains(is_control), "{arguments:?}");
    }
}

#[cfg(feature = "pocket")]
#[test]
fn an_answer_cites_the_passages_that_it_was_shown() {
    let program = program();
    program.run(&["index", "add", "docs"]).ok();
    let answer = "In Assam [1], and not [9] or [1].";
    let ask = ["ask", "--documents", "--passages", "2", "--choice", answer, "Where is tea grown?"];
    let asked = program.run(&ask).ok();
    assert_eq!(asked.out, format!("{answer}\n"));
    assert!(asked.err.contains("\n[1] docs/tea.md: Tea > Origin\n"), "{}", asked.err);
    assert_eq!(asked.err.matches("[1] ").count(), 1, "{}", asked.err);
    assert!(asked.err.contains("([9] is none of the 2 passages"), "{}", asked.err);

    let events = program.run(&[&ask[..], &["--json"]].concat()).ok().events();
    let sources = events.last().unwrap();
    assert_eq!(
        (&sources["event"], &sources["unknown"], &sources["shown"]),
        (&json!("sources"), &json!([9]), &json!(2))
    );
    assert_eq!(sources["cited"][0]["heading"], "Tea > Origin");
    assert_eq!(sources["cited"].as_array().unwrap().len(), 1);

    // The folder alone is enough as a flag; in the file, it only says where the index is.
    let named = ["ask", "--index", "index", "--choice", "I do not know.", "Where is tea grown?"];
    let asked = program.run(&named).ok();
    assert!(asked.err.contains("(the answer cites none of the 3 passages"), "{}", asked.err);
    program.write("config.toml", "index = \"index\"\n");
    let asked = program.run(&["ask", "--config", "config.toml", "--choice", answer, "Tea?"]).ok();
    assert!(!asked.err.contains("docs/tea.md"), "{}", asked.err);
    program.write("config.toml", "index = \"index\"\ndocuments = true\n");
    let asked = program.run(&["ask", "--config", "config.toml", "--choice", answer, "Tea in Assam?"]).ok();
    assert!(asked.err.contains("[1] docs/tea.md: Tea > Origin"), "{}", asked.err);

    let rendered = program.run(&["render", "--documents", "Where is tea grown?"]).ok().out;
    assert!(
        rendered.contains("] docs/tea.md: # Tea")
            && !program.run(&["render", "Tea?"]).ok().out.contains("docs")
    );
    let chat = ["chat", "--documents", "--choice", answer, "--conversation", "tea"];
    let chatted = program.run_with(&chat, "Where is tea grown?\n/history\n").ok();
    assert!(chatted.err.contains("[1] docs/tea.md: Tea > Origin"), "{}", chatted.err);
    assert!(
        chatted.out.contains("Where is tea grown?") && !chatted.out.contains("<documents"),
        "{}",
        chatted.out
    );
}

#[cfg(feature = "pocket")]
#[test]
fn what_guards_remove_is_neither_read_nor_printed() {
    let program = Program::new();
    std::fs::create_dir(program.path("docs")).unwrap();
    program.write("docs/ann.md", "# Of ann@example.org\n\nWrite to ann@example.org about tea.\n");
    program.run(&["index", "add", "docs"]).ok();
    let ask = ["ask", "--documents", "--guard", "redact", "--choice", "See [1].", "Who knows about tea?"];
    for json in [&[][..], &["--json"]] {
        let asked = program.run(&[&ask[..], json].concat()).ok();
        let all = asked.out + &asked.err;
        assert!(all.contains("Of [email]") && !all.contains("ann@example.org"), "{all}");
    }
}

#[cfg(feature = "pocket")]
#[test]
fn a_search_that_fails_is_a_warning_of_the_answer() {
    let program = program();
    program.run(&["index", "add", "docs"]).ok();
    let owners = program.path("index/owners");
    let owner = std::fs::read_dir(owners).unwrap().next().unwrap().unwrap().path();
    std::fs::write(owner.join("manifest.json"), "{").unwrap();
    let asked = program.run(&["ask", "--documents", "--choice", "Yes.", "Is tea grown?"]).ok();
    assert_eq!(asked.out, "Yes.\n");
    assert!(asked.err.contains("the retriever \"hybrid\" failed"), "{}", asked.err);
}

#[cfg(unix)]
#[test]
fn watched_files_are_read_when_they_change_until_ctrl_c() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let program = program();
    let mut child = program.spawn(&["index", "add", "docs", "--watch", "--every", "1", "--prune", "--json"]);
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    let reader = std::thread::spawn(move || {
        for line in out.lines() {
            sender.send(serde_json::from_str::<Value>(&line.unwrap()).unwrap()).unwrap();
        }
    });
    let next = || lines.recv_timeout(Duration::from_secs(60)).expect("a line after a change");
    assert_eq!(next()["added"], 3);
    program.write("docs/milk.txt", "Milk comes from cows.");
    let change = next();
    assert_eq!((&change["documents"], &change["added"]), (&json!(1), &json!(1)));
    program.write("docs/tea.md", "# Tea\n\n## Origin\n\nTea is grown in Kenya.\n");
    let change = next();
    assert_eq!(
        (&change["documents"], &change["added"], &change["removed"]),
        (&json!(1), &json!(1), &json!(2))
    );
    std::fs::remove_file(program.path("docs/milk.txt")).unwrap();
    assert_eq!(next()["removed"], 1);
    // A file that is written all the time does not keep the others waiting.
    let is_written = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut log = std::fs::File::create(program.path("docs/log.txt")).unwrap();
            // It ends by itself too, so that the test fails and does not hang.
            let begun = std::time::Instant::now();
            while is_written.load(std::sync::atomic::Ordering::Relaxed) && begun.elapsed().as_secs() < 20 {
                log.write_all(b"A line.\n").unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        program.write("docs/juice.txt", "Juice is made of fruit.");
        let read = std::iter::repeat_with(next).take(5).find(|change| change["documents"] == 1);
        is_written.store(false, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(read.expect("the other file is read")["added"], 1);
    });
    let found = json_of(&program, &["index", "search", "Kenya"]);
    assert_eq!(found["passages"][0]["source"], "docs/tea.md");

    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    reader.join().unwrap();
}

#[cfg(unix)]
#[test]
fn at_a_terminal_lists_have_columns_and_passages_their_first_lines() {
    let program = program();
    program.write(
        "docs/long.md",
        &format!("# {}\n\nMilk\n\ncomes\n\nfrom {}.\n", "Cows ".repeat(30), "cows ".repeat(30)),
    );
    program.run(&["index", "add", "docs"]).ok();
    program.write("questions.jsonl", r#"{"question": "Tea?", "answers": [{"source": "docs/tea.md"}]}"#);
    let shown = |arguments: &[&str]| {
        let mut terminal = terminal::Terminal::start_with(program.command(arguments), 60);
        assert_eq!(terminal.end().code(), Some(0), "{}", terminal.text());
        terminal.text().replace('\r', "")
    };
    let listed = shown(&["index", "list", "-q"]);
    assert!(listed.starts_with("PASSAGES  SIZE"), "{listed}");
    assert!(
        listed.lines().any(|line| line.starts_with("       2  ") && line.ends_with("docs/tea.md")),
        "{listed}"
    );
    let found = shown(&["index", "search", "-q", "milk", "--limit", "1"]);
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert!(
        lines[0].contains("docs/long.md: Cows Cows") && lines[0].ends_with('…') && lines[2] == "  Milk",
        "{found}"
    );
    assert!(lines.iter().all(|line| line.chars().count() <= 60), "{found}");
    assert!(shown(&["index", "eval", "-q", "questions.jsonl"]).contains("hybrid   1.000"), "eval");
    program.run(&["note", "add", "I drink tea"]).ok();
    assert!(shown(&["note", "list"]).starts_with("ID        CREATED           NOTE\n"));
}

#[test]
fn every_flag_is_a_variable() {
    let cases: [(&str, &str, &[&str], &str); 7] = [
        ("ALLOQUY_INDEX", "elsewhere", &["index", "list"], "elsewhere"),
        ("ALLOQUY_EMBEDDER", "minilm", &["index", "add", "docs"], "\"minilm\""),
        ("ALLOQUY_CHUNK", "0", &["index", "add", "docs"], "from 1 to 1000000"),
        ("ALLOQUY_FILE_BYTES", "1", &["index", "add", "docs"], "--file-bytes allows 1"),
        ("ALLOQUY_STEMS", "klingon", &["index", "add", "docs"], "klingon"),
        ("ALLOQUY_DOCUMENTS", "1", &["ask", "Tea?"], "there is no index"),
        ("ALLOQUY_PASSAGES", "0", &["ask", "Tea?"], "from 1 to 1000"),
    ];
    for (name, value, arguments, text) in cases {
        let ran = program().variable(name, value).run(arguments);
        assert!(ran.err.contains(text), "{name}={value}: {}", ran.err);
    }
}

#[test]
fn a_model_computes_vectors_and_counts_tokens_in_later_calls_too() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../backends/onnx/tests/fixtures/text_models/embedder");
    let program = program();
    let added = json_of(&program, &["index", "add", "docs", "--embedder", model]);
    assert_eq!(added["documents"], 2, "{added}");
    let listed = json_of(&program, &["index", "list"]);
    assert!(listed["embedder"].as_str().unwrap().ends_with("text_models/embedder"), "{listed}");
    assert_eq!(listed["settings"]["counter"], "tokens of embedder");
    let found = json_of(&program, &["index", "search", "--vectors", "Where is tea grown?"]);
    assert_eq!(found["passages"].as_array().unwrap().len(), 5, "{found}");
    program.write("docs/milk.txt", "Milk comes from cows.");
    assert_eq!(json_of(&program, &["index", "add", "docs"])["documents"], 3);

    let other = program.run(&["index", "search", "--embedder", "ngrams", "tea"]);
    assert_eq!(other.code, Some(1), "{}", other.err);
    let unknown = program.run(&["index", "search", "--embedder", "no/such", "tea"]);
    assert!(unknown.err.contains("\"no/such\" is no embedder"), "{}", unknown.err);
}
