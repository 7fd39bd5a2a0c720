//! `alloquy flow check`: everything that is wrong with flows.

use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind};
use alloquy::flows::{Flow, FlowProblem, Known};
use clap::Args;
use serde_json::{Value, json};

use super::definition::text_of;
use crate::arguments::LibraryArguments;
use crate::context::Context;
use crate::failure::{self, Failure};

const EXAMPLES: &str = "\
Examples:
  alloquy flow check order.yaml
  alloquy flow check flows/*.yaml --prompts prompts
  alloquy flow check order.yaml --json | jq '.files[].problems[].line'

A line is FILE:LINE:COLUMN, what is wrong, and the place in the flow. A warning is a part that has no effect, with which the flow runs all \
the same. The exit code is 1 if there is a problem or a warning.";

/// List everything that is wrong with flows, with its lines
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    library: LibraryArguments,
}

impl Check {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let mut known = Known::default();
        if let Some(library) = context.settings.settle(&self.library)?.open_if_set()? {
            known = known.prompts(library);
        }
        let mut text = String::new();
        let mut files = Vec::new();
        let mut count = 0;
        for file in &self.files {
            let source = text_of(file).map_err(Failure::Arguments)?;
            match Flow::from_yaml(&source) {
                Ok(flow) => {
                    let problems = flow.problems_with(&known);
                    count += problems.len();
                    for problem in &problems {
                        text += &line(file, problem);
                    }
                    let problems: Vec<_> = problems.iter().map(problem_json).collect();
                    files.push(
                        json!({"file": file, "flow": flow.name, "states": flow.states.len(), "problems": problems}),
                    );
                }
                Err(error) => {
                    count += 1;
                    text += &format!("{}: error: {error}\n", file.display());
                    let problem = json!({"place": "", "line": null, "column": null, "message": error.to_string(), "warning": false});
                    files.push(json!({"file": file, "flow": null, "states": 0, "problems": [problem]}));
                }
            }
        }
        context.print(&text, &json!({"files": files}))?;
        if count == 0 {
            let files = if files.len() == 1 { "1 flow".to_owned() } else { format!("{} flows", files.len()) };
            context.notes.say(format!("{files}, nothing is wrong"));
            return Ok(());
        }
        let noun = if count == 1 { "problem needs" } else { "problems need" };
        failure::print(&Error::new(ErrorKind::Invalid, format!("{count} {noun} correcting")));
        Err(Failure::Problems)
    }
}

/// Shows a problem as compilers do, so that editors find its line.
fn line(file: &Path, problem: &FlowProblem) -> String {
    let mut text = file.display().to_string();
    for number in [problem.line, problem.column].into_iter().flatten() {
        text += &format!(":{number}");
    }
    let kind = if problem.is_warning { "warning" } else { "error" };
    format!("{text}: {kind}: {} ({})\n", problem.message, problem.place)
}

fn problem_json(problem: &FlowProblem) -> Value {
    json!({
        "place": problem.place,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "warning": problem.is_warning,
    })
}
