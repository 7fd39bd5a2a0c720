//! x
use super::Context;
use crate::failure::Failure;
use clap::Args;
/// x
#[derive(Args, Debug)]
pub(crate) struct Models {}
impl Models {
    pub(crate) fn run(self, _context: &Context) -> Result<(), Failure> {
        Ok(())
    }
}
