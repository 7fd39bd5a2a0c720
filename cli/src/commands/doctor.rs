//! x
use super::Context;
use crate::failure::Failure;
use clap::Args;
/// x
#[derive(Args, Debug)]
pub(crate) struct Doctor {}
impl Doctor {
    pub(crate) fn run(self, _context: &Context) -> Result<(), Failure> {
        Ok(())
    }
}
