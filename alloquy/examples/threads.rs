//! Many conversations with one model: from tasks of a runtime, and from threads without one.

use alloquy::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let model = Model::pocket()?;
    let turns = (0..8).map(|number| model.conversation().send(format!("What is {number} + 2?")));
    let tasks: Vec<_> = turns.map(|turn| tokio::spawn(turn.finish())).collect();
    for task in tasks {
        println!("task: {}", task.await.map_err(failed)??.text());
    }
    std::thread::scope(|scope| {
        for number in 0..2 {
            let conversation = model.conversation();
            scope.spawn(move || match conversation.ask(format!("What is {number} + 3?")) {
                Ok(answer) => println!("thread: {}", answer.text()),
                Err(error) => eprintln!("thread: {error}"),
            });
        }
    });
    Ok(())
}

fn failed(error: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Backend, "a task ended early").with_source(error)
}
