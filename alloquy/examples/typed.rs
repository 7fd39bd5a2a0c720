//! An answer as a type: its schema holds the reply to the form, and serde reads it.

use alloquy::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)] // it is printed
struct Capital {
    city: String,
}

fn main() -> Result<()> {
    let schema = Grammar::JsonSchema(schemars::schema_for!(Capital).to_value());
    let question =
        TurnRequest::from("What is the capital of Portugal?").guidance(Guidance::default().grammar(schema));
    let text = Model::pocket()?.ask(question)?.text();
    let capital: Capital = serde_json::from_str(&text).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("the reply {text:?} is no capital")).with_source(source)
    })?;
    println!("{capital:?}");
    Ok(())
}
