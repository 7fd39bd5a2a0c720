//! A request that has its place and its turn, and what it begins with.

use alloquy_core::tool::Toolbox;
use alloquy_core::{Message, TurnRequest};

use super::events::EventWriter;
use super::place::{Place, managers, marked};
use super::request::Asked;
use super::settings::ResponseMark;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiResult;
use crate::host_tools::{ApprovedTurn, Decisions, Work};
use crate::logprobs;
use crate::models::ModelLease;

/// A request that is ready for its turn.
pub(super) struct Ready {
    pub(super) place: Place,
    pub(super) turn: TurnRequest,
    mark: ResponseMark,
    writer: EventWriter,
    decided: Option<Decided>,
}

/// The decisions of a request on approvals.
struct Decided {
    decisions: Decisions,
    messages: Vec<Message>,
    /// What runs the calls.
    toolbox: Toolbox,
}

impl Ready {
    /// Finds the place of a request and prepares its turn.
    ///
    /// # Errors
    /// Those of a request that is not valid. A conversation that was created for it is removed again.
    pub(super) async fn new(
        mut asked: Asked,
        app: &App,
        model: &ModelLease,
        caller: &Caller,
    ) -> ApiResult<Self> {
        model.name().clone_into(&mut asked.settings.model);
        if asked.logprobs {
            logprobs::must_have_tokens("include", model)?;
        }
        let (stored, temporary) = managers(&asked, app, model, caller)?;
        let place = Place::open(&asked, app, caller, stored, temporary).await?;
        match Self::at(&place, asked, app, model, caller).await {
            Ok((turn, mark, writer, decided)) => Ok(Self { place, turn, mark, writer, decided }),
            Err(error) => {
                place.remove_unanswered().await;
                Err(error)
            }
        }
    }

    async fn at(
        place: &Place,
        mut asked: Asked,
        app: &App,
        model: &ModelLease,
        caller: &Caller,
    ) -> ApiResult<(TurnRequest, ResponseMark, EventWriter, Option<Decided>)> {
        place.note_lists(&mut asked).await?;
        let decisions = place.decisions(&asked, app, caller).await?;
        let messages = place.messages(&asked, decisions.as_ref(), app, caller).await?;
        place.note_system(&messages).await?;
        let sent = if decisions.is_some() { Vec::new() } else { messages.clone() };
        let turn = place.instructed(asked.turn(sent), &asked, &messages);
        let mark = ResponseMark::new(asked.settings.clone());
        let turn = marked(turn, &mark);
        let turn = if mark.settings.store {
            app.stored_turn(turn, model, caller)?
        } else {
            app.turn(turn, model, caller)?
        };
        let turn = place.put(turn);
        let mut writer = asked.writer(place.conversation.id());
        if asked.logprobs {
            writer.set_logprobs(model.opened().clone());
        }
        let decided = decisions.map(|decisions| {
            writer.set_decisions(decisions.question, &decisions.all);
            let (toolbox, _) = asked.tools.toolboxes();
            Decided { decisions, messages, toolbox }
        });
        Ok((turn, mark, writer, decided))
    }

    /// Begins: the turn, or the approved calls before it.
    pub(super) fn begin(self, app: &App, caller: &Caller) -> (Place, ResponseMark, EventWriter, Work) {
        let Self { place, turn, mark, writer, decided } = self;
        let conversation = place.conversation.clone();
        let work = match decided {
            None => Work::Turn(Box::new(conversation.send(turn))),
            Some(Decided { decisions, messages, toolbox }) => Work::approved(ApprovedTurn {
                app: app.clone(),
                owner: caller.owner.clone(),
                conversation,
                decisions,
                is_claimed: false,
                toolbox,
                messages,
                at: place.at,
                head: place.record.head,
                mark: mark.of_message(),
                turn,
                task: app.turns().begin(),
            }),
        };
        (place, mark, writer, work)
    }
}
