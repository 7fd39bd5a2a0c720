//! A chat model that says what it was told.

use alloquy_core::report::{CacheReport, Degradation, FinishReason};
use alloquy_core::stream::Run;
use alloquy_core::{ChatModel, Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;

/// Answers with the text of the last message, a word at a time. Sampling options have no effect, which each reply says.
///
/// ```
/// use alloquy_core::{ChatModel, Message, Preface, Request};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let request = Request::new(Preface::default(), vec![Message::user("one two")]);
/// assert_eq!(EchoModel.reply(request).await?.finish().await?.message.text(), "one two");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EchoModel;

#[async_trait]
impl ChatModel for EchoModel {
    fn name(&self) -> &str {
        "echo"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let nothing = || Error::new(ErrorKind::Invalid, "there is no message to echo");
        let text = request.path.last().ok_or_else(nothing)?.text();
        request.sampling.validate()?;
        if request.guidance.grammar.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "an echo has no other form than what it echoes"));
        }
        let ignored = request.sampling.names().into_iter();
        let degradations = ignored.map(|name| Degradation::OptionIgnored { name: name.to_owned() }).collect();
        Ok(Run::new(|mut emit| async move {
            let mut said = String::new();
            for word in text.split_inclusive(' ') {
                if request.stop.is_stopped() {
                    break;
                }
                said += word;
                emit.send(Delta::Text(word.to_owned())).await;
            }
            let finish = if said == text { FinishReason::Stop } else { FinishReason::Cancelled };
            let mut reply = Reply::new(Message::assistant(said));
            reply.finish = finish;
            reply.degradations = degradations;
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}
