//! A chat model that repeats the last message.

use alloquy_core::report::{CacheReport, FinishReason, Warning};
use alloquy_core::stream::EventStream;
use alloquy_core::{ChatModel, Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;

/// Answers with the text of the last message, a word at a time. Sampling options have no effect, which each reply reports.
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
        let Some(last) = request.path.last() else {
            return Err(Error::new(ErrorKind::Invalid, "there is no message to echo"));
        };
        let text = last.text();
        request.sampling.validate()?;
        if request.output.grammar.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "an echo cannot follow a grammar"));
        }
        Ok(EventStream::new(|mut emit| async move {
            let mut sent = String::new();
            for word in text.split_inclusive(' ') {
                if request.stop.is_stopped() {
                    break;
                }
                sent += word;
                emit.send(Delta::Text(word.to_owned())).await;
            }
            let finish = if sent == text { FinishReason::Stop } else { FinishReason::Cancelled };
            let mut reply = Reply::new(Message::assistant(sent));
            reply.finish = finish;
            for name in request.sampling.names() {
                reply.warnings.push(Warning::OptionIgnored { name: name.to_owned() });
            }
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}
