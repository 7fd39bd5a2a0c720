//! The list of models that are served, and what is read again while the server runs.

use alloquy::core::{Error, ErrorKind, Result};
use alloquy_server::ServerHandle;

use crate::arguments::{ContextArguments, ModelArguments, RemoteArguments, ServingArguments};
use crate::key_file;
use crate::notes::Notes;
use crate::pocket::POCKET;
use crate::served::{NamedModel, WrittenModel, written};
use crate::served_library::ServedLibrary;
use crate::settings::Settings;

/// What the command line says of the models.
#[derive(Clone, Debug)]
pub(crate) struct ServedList {
    /// The models of `--model`.
    pub(crate) named: Vec<String>,
    pub(crate) remote: RemoteArguments,
    pub(crate) serving: ServingArguments,
    pub(crate) library: ServedLibrary,
    pub(crate) notes: Notes,
}

impl ServedList {
    /// Returns the models: those of `--model`, else those of the setting `serve-models`, else the default one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a model without a name, and for settings that cannot be.
    pub(crate) fn models(&self, settings: &Settings) -> Result<Vec<NamedModel>> {
        let serving = settings.settle(&self.serving)?;
        let asked = ModelArguments { remote: self.remote.clone(), ..ModelArguments::default() };
        let arguments = settings.settle(&asked)?;
        let overflow = settings.settle(&ContextArguments::default())?;
        let mut given = self.named.clone();
        if given.is_empty() {
            given.clone_from(&serving.serve_models);
        }
        if given.is_empty() {
            given.push(usual_model(settings, &arguments)?);
        }
        let mut models = Vec::new();
        for argument in &given {
            let WrittenModel { name, model, server } = written(argument)?;
            let remote = self.remote_of(&name, server, &arguments, serving.share_cache);
            let model = settings.model_named(&model.to_string_lossy());
            let arguments = ModelArguments { model: Some(model.into()), remote, ..arguments.clone() };
            models.push(NamedModel {
                name,
                arguments,
                overflow: overflow.clone(),
                shares_cache: serving.share_cache,
                notes: self.notes,
            });
        }
        Ok(models)
    }

    /// Returns how the server of one model is reached.
    fn remote_of(
        &self,
        name: &str,
        server: Option<String>,
        arguments: &ModelArguments,
        shares_cache: bool,
    ) -> RemoteArguments {
        let remote = match server {
            Some(url) => arguments.remote.of_server(url),
            None => arguments.remote.clone(),
        };
        if remote.withholds_key() && remote.is_set() {
            self.notes
                .say(format_args!("{name}: the key is of the server of --remote, and not sent to this one"));
        }
        RemoteArguments { separates_owners: !shares_cache, ..remote }
    }

    /// Reads the configuration file, the keys, the prompts and the flows again, and gives them to the server. What cannot be read changes nothing.
    ///
    /// # Errors
    /// Those of the files, of the models, and of keys and prompts for a server that began without them.
    pub(crate) fn reload(&self, settings: &Settings, server: &ServerHandle) -> Result<()> {
        let settings = settings.again()?;
        settings.check()?;
        let serving = settings.settle(&self.serving)?;
        let mut served = Vec::new();
        for model in self.models(&settings)? {
            model.describe()?;
            served.push(model.served());
        }
        let keys = key_file::keys(&serving.keys)?;
        if keys.is_some() != server.has_keys() {
            let message = if keys.is_some() {
                "there is a file of keys now, and the server began without: start it again"
            } else {
                "the file of keys is gone: `alloquy keys add` creates it, and the keys stay as they were"
            };
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        let library = self.library.open(&settings, serving.flows.as_deref())?;
        library.check()?;
        let library = library.checked(server)?;
        server.replace_models(served)?;
        server.replace_library(library);
        keys.map_or(Ok(()), |keys| server.replace_keys(keys))
    }
}

/// Returns the model that is served where none is named.
fn usual_model(settings: &Settings, arguments: &ModelArguments) -> Result<String> {
    match settings.default_model() {
        Some(model) => Ok(model),
        None if !arguments.remote.is_set() => Ok(POCKET.to_owned()),
        None => {
            let message = "--remote is set, and no model: name it with --model, as --model NAME=MODEL";
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}
