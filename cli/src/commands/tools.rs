//! `alloquy tools`: lists the tools of servers.

use clap::Args;
use serde_json::json;

use crate::arguments::ToolArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::tools;
use crate::visible::on_one_line;

const EXAMPLES: &str = "\
Examples:
  alloquy tools --mcp \"uvx mcp-server-time\"
  alloquy tools --mcp-url http://localhost:8000/mcp
  alloquy tools --json | jq '.tools[].parameters'

The same flags give these tools to a model in `alloquy chat` and `alloquy ask`.";

/// List the tools that servers of the Model Context Protocol offer
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tools {
    #[command(flatten)]
    tools: ToolArguments,
}

impl Tools {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.tools)?;
        let (toolbox, refused) = pollster::block_on(tools::toolbox_with_refused(&arguments, context.notes))?;
        let tools = toolbox.now()?;
        let mut text = String::new();
        for spec in tools.specs() {
            let description = spec.description.lines().next().unwrap_or_default();
            text += &format!("{}: {description}\n", on_one_line(&spec.name));
        }
        if text.is_empty() && refused.is_empty() {
            context.notes.say("there are no tools: name a server with --mcp COMMAND or --mcp-url URL");
        }
        context.print(&text, &json!({"tools": tools.specs().collect::<Vec<_>>(), "refused": refused}))
    }
}
