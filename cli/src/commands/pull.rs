//! `alloquy pull`: fetches a model from the Hugging Face Hub.

use alloquy::hub::{Choice, Hub, Listing, ModelName, choose, choose_description, human, variants};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::hub;

const EXAMPLES: &str = "\
Examples:
  alloquy pull onnx-community/Qwen3-0.6B-ONNX                the variant that fits this machine best
  alloquy pull onnx-community/Qwen3-0.6B-ONNX --list         see the variants and their sizes
  alloquy pull onnx-community/Qwen3-0.6B-ONNX --variant q4
  alloquy pull Qwen/Qwen3-4B --no-weights                    what a model on a server needs here
  alloquy chat --model onnx-community/Qwen3-0.6B-ONNX        talk to it

A repository has a model in several variants: weights of 32, 16, 8 or 4 bits, for processors or GPUs. Only the files of \
one are fetched, into the cache of Hugging Face's own programs (HF_HOME). What is cut off is continued by the next try.
HF_TOKEN is the token for models whose authors ask people to accept conditions; HF_ENDPOINT names another server.";

/// Fetch a model from the Hugging Face Hub
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pull {
    /// The model, such as onnx-community/Qwen3-0.6B-ONNX; with @REVISION and :VARIANT if wanted. Or its short name
    #[arg(value_name = "OWNER/NAME")]
    name: String,
    /// The variant, such as q4; the one that fits this machine best unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_VARIANT")]
    variant: Option<String>,
    /// The branch, the tag or the commit; main unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_REVISION")]
    revision: Option<String>,
    /// List the variants with their sizes, and fetch none
    #[arg(long, env = "ALLOQUY_LIST", value_parser = Switch::new())]
    list: bool,
    /// Fetch the tokenizer, the configuration and the template alone: what a model on a server needs here (--remote)
    #[arg(long, env = "ALLOQUY_NO_WEIGHTS", value_parser = Switch::new(), conflicts_with_all = ["variant", "list"])]
    no_weights: bool,
}

impl Pull {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { name, variant, revision, list, no_weights } = self;
        let parsed = context.settings.model_named(&name).parse::<ModelName>().map_err(hub::error);
        let mut name = parsed.map_err(Failure::Arguments)?;
        name.variant = variant.or(name.variant);
        name.revision = revision.or(name.revision);
        let hub = Hub::from_env().map_err(hub::error)?;
        let listing = hub.list(&name.repository, name.revision()).map_err(hub::error)?;
        let choice = if no_weights {
            choose_description(&listing)
        } else {
            choose(&listing, name.variant.as_deref(), hub.machine())
        };
        let choice = choice.map_err(hub::error)?;
        if list {
            return print_variants(context, &listing, &choice);
        }
        let model = hub::pull(&hub, &name, &listing, &choice, context.notes).map_err(hub::error)?;
        let remote = if no_weights { " --remote URL" } else { "" };
        context.notes.say(format_args!("talk to it: alloquy chat{remote} --model {name}"));
        let value = json!({
            "name": name.to_string(),
            "variant": model.variant,
            "reason": choice.reason.to_string(),
            "bytes": model.bytes,
            "commit": model.commit,
            "licence": listing.licence,
            "path": model.path.display().to_string(),
        });
        context.print(&format!("{}\n", model.path.display()), &value)
    }
}

/// Prints the variants, and marks the one that would be fetched.
fn print_variants(context: &Context, listing: &Listing, choice: &Choice) -> Result<(), Failure> {
    let found = variants(listing);
    let width = found.iter().map(|variant| variant.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut values = Vec::new();
    for variant in &found {
        let bytes = variant.bytes(listing);
        let is_chosen = *variant == choice.variant;
        let note = if is_chosen { format!("  {}", choice.reason) } else { String::new() };
        let mark = if is_chosen { '*' } else { ' ' };
        text += &format!("{mark} {:width$}  {:>8}{note}\n", variant.name, human(bytes));
        values
            .push(json!({"name": variant.name, "bytes": bytes, "files": variant.files, "chosen": is_chosen}));
    }
    context.print(&text, &described(listing, &values))
}

fn described(listing: &Listing, variants: &[Value]) -> Value {
    json!({
        "name": listing.repository.to_string(),
        "commit": listing.commit,
        "licence": listing.licence,
        "gated": listing.is_gated,
        "variants": variants,
    })
}
