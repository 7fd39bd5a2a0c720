//! What conversations cost: tokens by model and day, prices, and sums.

mod prices;
mod spending;

pub use prices::{Day, Price, PriceTable, TokenCount};
pub use spending::Spending;
