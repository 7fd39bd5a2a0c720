//! Prints turns to their end.

use alloquy::core::{Turn, TurnEvent, TurnReply};
use futures::StreamExt as _;

use super::Printer;
use crate::failure::Failure;

/// Runs a turn to its end and prints it. When the output is closed, the answer is interrupted and what was generated is kept.
pub(crate) async fn take(mut turn: Turn, printer: &mut dyn Printer) -> Result<TurnReply, Failure> {
    while let Some(event) = turn.next().await {
        let event = match event {
            Ok(TurnEvent::Finished(_)) | Err(_) => continue,
            Ok(event) => event,
        };
        if let Err(error) = printer.event(&event) {
            turn.cancel();
            turn.finish().await?;
            return Err(error.into());
        }
    }
    match turn.finish().await {
        Ok(reply) => {
            printer.turn(&reply)?;
            Ok(reply)
        }
        Err(error) => {
            printer.broken()?;
            Err(error.into())
        }
    }
}
