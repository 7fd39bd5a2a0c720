//! Invariants of the architecture that show in the words of a file. docs/architecture.md explains each.

use super::sources::{code, has_words};
use crate::{File, Finding, Tree};

/// Words that only some files of a folder may write.
struct Invariant {
    words: &'static [&'static str],
    folder: &'static str,
    only_in: &'static [&'static str],
    sentence: &'static str,
}

/// The modules that reach out of the program, as they are imported and as they are used.
const IO: [&str; 8] =
    ["std::env", "std::fs", "std::net", "std::process", "env::", "fs::", "net::", "process::"];

const INVARIANTS: [Invariant; 22] = [
    Invariant { words: &IO, folder: "core/src/", only_in: &[], sentence: "core does no I/O" },
    Invariant { words: &IO, folder: "context/src/", only_in: &[], sentence: "context does no I/O" },
    Invariant { words: &IO, folder: "cost/src/", only_in: &[], sentence: "cost does no I/O" },
    Invariant { words: &IO, folder: "engine/src/", only_in: &[], sentence: "engine does no I/O" },
    Invariant { words: &IO, folder: "inference/src/", only_in: &[], sentence: "inference does no I/O" },
    Invariant {
        words: &["thread::Builder", "thread::scope", "thread::spawn"],
        folder: "core/src/",
        only_in: &[],
        sentence: "core starts no thread",
    },
    Invariant {
        words: &["thread::Builder", "thread::scope", "thread::spawn"],
        folder: "inference/src/",
        only_in: &["inference/src/generator.rs"],
        sentence: "the one thread of an engine is the generator's",
    },
    Invariant {
        words: &[".prompt_parts(", ".reply_parser(", ".template_input("],
        folder: "core/src/",
        // processor.rs hands the calls of an `Arc` on.
        only_in: &["core/src/processor.rs"],
        sentence: "only the language model knows the order template, processor, decoder",
    },
    Invariant {
        words: &[".prompt_parts(", ".reply_parser(", ".template_input("],
        folder: "inference/src/",
        only_in: &["inference/src/language_model.rs"],
        sentence: "only the language model knows the order template, processor, decoder",
    },
    Invariant {
        words: &["Node::new("],
        folder: "core/src/",
        // drop_guard.rs keeps the text of a reply whose turn was dropped; adding.rs makes the nodes of the question.
        only_in: &["core/src/turn.rs", "core/src/turn/drop_guard.rs", "core/src/turn/adding.rs"],
        sentence: "only turns make nodes",
    },
    Invariant {
        words: &["Node::new("],
        folder: "formats/src/",
        // A format that has no nodes makes those of its document; it is not what is said now.
        only_in: &["formats/src/archive/dataknobs/read.rs", "formats/src/archive/transcripts.rs"],
        sentence: "only archives make the nodes of a document",
    },
    Invariant { words: &IO, folder: "formats/src/", only_in: &[], sentence: "formats do no I/O" },
    Invariant {
        words: &["common_prefix("],
        folder: "core/src/",
        only_in: &["core/src/prompt.rs"],
        sentence: "what is reused is decided in inference/src/generator/slots.rs alone",
    },
    Invariant {
        words: &["common_prefix("],
        folder: "inference/src/",
        only_in: &["inference/src/generator/slots.rs", "inference/src/generator/slots/cached_units.rs"],
        sentence: "what is reused is decided in generator/slots.rs and slots/cached_units.rs alone",
    },
    Invariant {
        words: &["fs::read(", "File::open(", "read_to_string("],
        folder: "backends/onnx/src/",
        // cpu.rs asks the system for the processor.
        only_in: &["backends/onnx/src/cpu.rs"],
        sentence: "a model's files are read by model-files/src/bounded.rs, within bounds",
    },
    Invariant {
        words: &["fs::read(", "File::open(", "read_to_string("],
        folder: "model-files/src/",
        only_in: &["model-files/src/bounded.rs"],
        sentence: "a model's files are read in bounded.rs, within bounds",
    },
    Invariant {
        words: &[
            "dbg!(",
            "eprint!(",
            "eprintln!(",
            "print!(",
            "println!(",
            "stderr()",
            "stdout()",
            "::stderr,",
            "::stderr)",
            "::stdout,",
            "::stdout)",
        ],
        folder: "cli/src/",
        only_in: &["cli/src/screen.rs"],
        sentence: "the program writes through screen.rs, which filters",
    },
    Invariant {
        words: &[
            "::detect(",
            "::detect_with(",
            "HistoryDrop::",
            "HistoryShift::",
            "HistorySummary::",
            "MediaProcessors::",
            "OnnxEngine::",
            "LanguageModel::",
        ],
        folder: "cli/src/",
        only_in: &[],
        sentence: "the library opens models; the program says how",
    },
    Invariant {
        words: &IO,
        folder: "media/src/",
        only_in: &[],
        sentence: "a processor of media does no I/O",
    },
    Invariant { words: &IO, folder: "processors/src/", only_in: &[], sentence: "a processor does no I/O" },
    Invariant {
        words: &["Instant::now(", "SystemTime::now(", "Timestamp::now(", "Zoned::now("],
        folder: "media/src/",
        only_in: &[],
        sentence: "a processor of media reads no clock",
    },
    Invariant {
        words: &["Instant::now(", "SystemTime::now(", "Timestamp::now(", "Zoned::now("],
        folder: "processors/src/",
        only_in: &[],
        sentence: "a processor reads no clock",
    },
];

/// Finds words in files that must not contain them.
pub(super) fn invariants(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| file.is_a(&["rs"]));
    files.flat_map(|file| INVARIANTS.iter().flat_map(|invariant| invariant.broken_by(file))).collect()
}

impl Invariant {
    fn broken_by(&self, file: &File) -> Vec<Finding> {
        if !file.path.starts_with(self.folder) || self.only_in.contains(&file.path.as_str()) {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for (number, line) in code(file) {
            if let Some(words) = self.words.iter().find(|words| has_words(line, words)) {
                findings.push(Finding::new(&file.path, number, format!("`{words}`: {}", self.sentence)));
            }
        }
        findings
    }
}

/// The pages that name tests: those that check each invariant and each attack.
const PAGES: [&str; 2] = ["docs/architecture.md", "docs/reliability.md"];

/// Finds tests that the pages name but no file contains.
pub(super) fn named_tests(tree: &Tree) -> Vec<Finding> {
    PAGES.iter().filter_map(|path| tree.get(path)).flat_map(|page| missing_tests(tree, page)).collect()
}

fn missing_tests(tree: &Tree, page: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in page.lines() {
        // Every second piece is between backticks.
        let quoted = line.split('`').skip(1).step_by(2);
        for name in quoted.filter(|word| is_name_of_a_test(word)) {
            if !exists(tree, name) {
                findings.push(Finding::new(&page.path, number, format!("no function is called `{name}`")));
            }
        }
    }
    findings
}

fn exists(tree: &Tree, function: &str) -> bool {
    let head = format!("fn {function}(");
    tree.files.iter().any(|file| file.is_a(&["rs"]) && file.text.contains(&head))
}

/// Returns whether a word is the name of a test: a sentence of at least three words.
fn is_name_of_a_test(word: &str) -> bool {
    let is_name = word.chars().all(|character| character.is_ascii_lowercase() || character == '_');
    is_name && word.matches('_').count() > 1
}
