//! Turns that are printed to their end.

use alloquy::core::{Turn, TurnEvent, TurnReply};
use futures::StreamExt as _;

use super::Printer;
use crate::failure::Failure;

/// Takes a turn to its end, printing it. When nobody reads any more, the answer ends and what was said is kept.
pub(crate) async fn take(mut turn: Turn, printer: &mut dyn Printer) -> Result<TurnReply, Failure> {
    while let Some(event) = turn.next().await {
        let event = match event {
            Ok(TurnEvent::Finished(_)) | Err(_) => continue,
            Ok(event) => event,
        };
        if let Err(error) = printer.event(&event) {
            turn.stop();
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
