//! An answer as a type: its schema constrains the reply, and serde reads it.

use alloquy::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Answer {
    capital: City,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum City {
    Berlin,
    Lisbon,
    Paris,
}

fn main() -> Result<()> {
    let answer: Answer = Model::pocket()?.ask_as("What is the capital of Portugal?")?;
    println!("{:?}", answer.capital);
    Ok(())
}
