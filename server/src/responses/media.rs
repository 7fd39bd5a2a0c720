//! The bytes of the media in stored messages.

use alloquy_core::store::ConversationStoreExt as _;
use alloquy_core::{Content, Node};

use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiResult;

/// Reads the bytes that items show: those of audio, and those of images where they are included.
///
/// # Errors
/// Those of the store.
pub(crate) async fn load_media(
    nodes: &mut [Node],
    images: bool,
    app: &App,
    caller: &Caller,
) -> ApiResult<()> {
    for part in nodes.iter_mut().flat_map(|node| &mut node.message.parts) {
        if matches!(part.content, Content::Image(_)) && !images {
            continue;
        }
        for media in part.content.media_mut() {
            if media.bytes().is_none() {
                *media = app.store().get_media(&caller.owner, media).await?;
            }
        }
    }
    Ok(())
}
