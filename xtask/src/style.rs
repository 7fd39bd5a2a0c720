//! How the code and its English read, in figures: constructs that a reader stumbles over, words that are not the field's, and
//! long sentences.

mod code;
mod place;
mod prose;
mod words;

pub use self::place::{Count, Place};
use crate::{Error, File, Result, Tree, root};

/// Counts what makes code and prose hard to read, and compares the counts with their limits.
#[derive(Debug, clap::Args, Default)]
pub struct Style {
    /// Prints every place of one count instead.
    #[arg(long, value_name = "COUNT")]
    list: Option<Count>,
}

/// The figures of a tree of files.
#[derive(Debug, Default)]
pub struct Figures {
    /// Lines of code: without blank lines, comments and tests.
    pub code_lines: usize,
    /// Lines of code in the files that hold algorithms.
    pub algorithm_lines: usize,
    /// Comments inside the bodies of these files.
    pub algorithm_comments: usize,
    /// Sentences of the documentation.
    pub sentences: usize,
    /// Every place that is counted.
    pub places: Vec<Place>,
}

/// Files that hold an algorithm, where a comment inside a body helps.
const ALGORITHMS: [&str; 17] = [
    "backends/onnx/src/kv/room.rs",
    "context/src/memory.rs",
    "core/src/message/path/outline.rs",
    "core/src/search/text.rs",
    "inference/src/generator/active.rs",
    "inference/src/generator/guided_sampler.rs",
    "inference/src/generator/lookup.rs",
    "inference/src/generator/slots.rs",
    "inference/src/generator/worker.rs",
    "inference/src/splice.rs",
    "inference/src/stop/automaton.rs",
    "processors/src/injection/look_alikes.rs",
    "processors/src/injection/edges.rs",
    "processors/src/injection/rewrites.rs",
    "storage/src/bucket/log.rs",
    "storage/src/file/log.rs",
    "storage/src/postgres/transaction.rs",
];

impl Figures {
    /// Counts.
    ///
    /// # Errors
    /// When a source file is not Rust.
    pub fn of(tree: &Tree) -> Result<Self> {
        let mut figures = Self::default();
        for file in &tree.files {
            if is_source(file) {
                figures.add_code(file)?;
            } else if is_documentation(file) {
                figures.add_page(file);
            }
        }
        Ok(figures)
    }

    fn add_code(&mut self, file: &File) -> Result {
        let code = code::shipped(&file.text);
        let lines = code::count_code(code);
        self.code_lines += lines;
        if ALGORITHMS.contains(&file.path.as_str()) {
            self.algorithm_lines += lines;
            self.algorithm_comments += code::count_comments(code);
        }
        code::places(&file.path, code, &mut self.places)?;
        words::places_in_code(&file.path, code, &mut self.places)?;
        self.add_prose(&file.path, &prose::of_comments(code));
        Ok(())
    }

    fn add_page(&mut self, file: &File) {
        self.add_prose(&file.path, &prose::of_page(&file.text));
    }

    fn add_prose(&mut self, path: &str, paragraphs: &[prose::Paragraph]) {
        for paragraph in paragraphs {
            self.sentences += paragraph.sentences().len();
            words::places(path, paragraph, &mut self.places);
            prose::places(path, paragraph, &mut self.places);
        }
    }

    fn count(&self, count: Count) -> usize {
        self.places.iter().filter(|place| place.count == count).count()
    }

    /// Returns each figure with its limit.
    pub fn measures(&self) -> Vec<Measure> {
        let per_thousand = 1000.0 / as_float(self.code_lines.max(1));
        let comments = as_float(self.algorithm_comments) * 1000.0 / as_float(self.algorithm_lines.max(1));
        let long = as_float(self.count(Count::Sentences)) * 100.0 / as_float(self.sentences.max(1));
        vec![
            Measure::at_most("named closures in 1,000 lines", self.rate(Count::Closures, per_thousand), 1.0),
            Measure::at_most("tuple lets in 1,000 lines", self.rate(Count::Tuples, per_thousand), 0.5),
            Measure::at_most("matches on a boolean", as_float(self.count(Count::Matches)), 0.0),
            Measure::at_least("comments in 1,000 lines of algorithms", comments, 12.0),
            Measure::at_most("words that are not the field's", as_float(self.count(Count::Words)), 0.0),
            Measure::at_most("sentences of more than 30 words, in percent", long, 2.0),
        ]
    }

    fn rate(&self, count: Count, factor: f64) -> f64 {
        as_float(self.count(count)) * factor
    }
}

/// A figure and its limit.
#[derive(Clone, Debug)]
pub struct Measure {
    /// What is measured.
    pub name: &'static str,
    /// How much it is.
    pub value: f64,
    /// Its limit, from above or from below.
    pub limit: f64,
    /// Whether it keeps to the limit.
    pub is_kept: bool,
}

impl Measure {
    fn at_most(name: &'static str, value: f64, limit: f64) -> Self {
        Self { name, value, limit, is_kept: value <= limit }
    }

    fn at_least(name: &'static str, value: f64, limit: f64) -> Self {
        Self { name, value, limit, is_kept: value >= limit }
    }
}

impl Style {
    /// Prints the figures, or the places of one.
    ///
    /// # Errors
    /// When a figure is beyond its limit, or a source file is not Rust.
    pub fn run(self) -> Result {
        let tree = Tree::read(&root())?;
        for path in ALGORITHMS {
            if tree.get(path).is_none() {
                return Err(Error::new(format!("the list of algorithms names {path}, which does not exist")));
            }
        }
        let figures = Figures::of(&tree)?;
        if let Some(count) = self.list {
            for place in figures.places.iter().filter(|place| place.count == count) {
                println!("{}:{}: {}", place.path, place.line, place.text);
            }
            return Ok(());
        }
        let mut beyond = 0;
        for measure in figures.measures() {
            let verdict = if measure.is_kept { "ok" } else { "beyond its limit" };
            println!("{:44} {:8.2}  (limit {}) {verdict}", measure.name, measure.value, measure.limit);
            beyond += usize::from(!measure.is_kept);
        }
        println!("{} lines of code, {} sentences", figures.code_lines, figures.sentences);
        if beyond > 0 {
            return Err(Error::new(format!("style: {beyond} figures beyond their limits")));
        }
        Ok(())
    }
}

/// Returns whether a file is code that is shipped: no test, bench or example.
fn is_source(file: &File) -> bool {
    file.is_a(&["rs"])
        && file.path.contains("src/")
        && !["tests", "benches", "examples", "fixtures"].iter().any(|folder| file.is_below(folder))
}

/// Returns whether a file is a page that people read. The changelog and the decisions are history.
fn is_documentation(file: &File) -> bool {
    let is_history = file.path == "CHANGELOG.md" || file.path.starts_with("docs/decisions/");
    file.is_a(&["md"]) && !is_history && !file.is_below("fixtures") && !file.is_below("tests")
}

#[allow(clippy::cast_precision_loss)] // no tree has so many lines
fn as_float(count: usize) -> f64 {
    count as f64
}
