//! The tools that requests to the server may name: those of servers that the operator names by labels.

use alloquy::core::{Error, ErrorKind, Result};
use alloquy_server::{ServedTools, ServerBuilder};

use crate::arguments::{ServingArguments, ToolArguments};
use crate::notes::Notes;
use crate::tools::{ToolServer, served};

/// A server of tools and its label.
#[derive(Debug)]
pub(crate) struct NamedTools<'a> {
    label: &'a str,
    server: ToolServer<'a>,
}

impl<'a> NamedTools<'a> {
    /// Returns those of the settings.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for one without a label, and for a label that is used twice.
    pub(crate) fn all(serving: &'a ServingArguments) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        let programs = serving.serve_mcp.iter().map(|text| ("--serve-mcp", "COMMAND", text.as_str()));
        let urls = serving.serve_mcp_url.iter().map(|text| ("--serve-mcp-url", "URL", text.as_str()));
        for (flag, what, text) in programs.chain(urls) {
            let (label, rest) = labelled(text).ok_or_else(|| {
                let message = format!(
                    "{flag} {text:?} has no label of letters, digits, - and _: write LABEL={what}, such as time={}",
                    if what == "URL" { "http://localhost:8000/mcp" } else { "'uvx mcp-server-time'" }
                );
                Error::new(ErrorKind::Invalid, message)
            })?;
            if all.iter().any(|other| other.label == label) {
                let message =
                    format!("{flag} {text:?}: another server has the label {label:?}, choose another one");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            let server = if what == "URL" { ToolServer::Url(rest) } else { ToolServer::Program(rest) };
            all.push(Self { label, server });
        }
        Ok(all)
    }

    /// Connects to the server, and adds its tools.
    ///
    /// # Errors
    /// Those of the server.
    pub(crate) fn add_to(
        &self,
        builder: ServerBuilder,
        rules: &ToolArguments,
        notes: Notes,
    ) -> Result<ServerBuilder> {
        let toolbox = pollster::block_on(served(self.server, rules, notes));
        let toolbox = toolbox.map_err(|error| error.context(format_args!("tools {:?}", self.label)))?;
        let tools = ServedTools::new(self.label, toolbox);
        Ok(builder.tools(match self.server {
            ToolServer::Url(url) => tools.url(url),
            ToolServer::Program(_) => tools,
        }))
    }
}

/// Splits `LABEL=REST`.
fn labelled(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.split_once('=')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let is_label = !label.is_empty() && label.chars().all(is_name) && !rest.trim().is_empty();
    is_label.then_some((label, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_label_of_its_own() {
        assert_eq!(
            labelled("time=uvx mcp-server-time --zone=UTC"),
            Some(("time", "uvx mcp-server-time --zone=UTC"))
        );
        for text in ["uvx mcp-server-time", "=uvx", "time=", "time= ", "a b=c", "http://localhost/?a=b"] {
            assert_eq!(labelled(text), None, "{text}");
        }
        let serving = |mcp: &[&str], urls: &[&str]| ServingArguments {
            serve_mcp: mcp.iter().map(|text| (*text).to_owned()).collect(),
            serve_mcp_url: urls.iter().map(|text| (*text).to_owned()).collect(),
            ..ServingArguments::default()
        };
        let named = serving(&["time=uvx mcp-server-time"], &["files=http://localhost:8000/mcp"]);
        let labels: Vec<_> = NamedTools::all(&named).unwrap().iter().map(|tools| tools.label).collect();
        assert_eq!(labels, ["time", "files"]);
        assert!(NamedTools::all(&serving(&["time=one"], &["time=http://two"])).is_err());
    }
}
