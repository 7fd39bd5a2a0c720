//! Validators by form: a JSON Schema, a regular expression, a Rust type.
//!
//! A reply that calls tools is not an answer, so these validators accept it.

use std::fmt;
use std::marker::PhantomData;

use alloquy_core::{Error, ErrorKind, Reply, Request, Result};
use async_trait::async_trait;
use regex::Regex;
use serde::de::DeserializeOwned;

use super::{Validator, Verdict};

/// Accepts JSON that a JSON Schema accepts. A schema that refers to another document is refused.
///
/// ```
/// use alloquy_core::{Message, Reply, Request};
/// use alloquy_guards::validate::{SchemaValidator, Validator, Verdict};
/// use serde_json::json;
///
/// let validator = SchemaValidator::new(&json!({"type": "object", "required": ["age"]}))?;
/// let reply = Reply::new(Message::assistant("{}"));
/// let verdict = pollster::block_on(validator.validate(&Request::default(), &reply))?;
/// assert_eq!(verdict, Verdict::Invalid("at \"\": \"age\" is a required property".to_owned()));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[cfg(feature = "json-schema")]
#[derive(Clone, Debug)]
pub struct SchemaValidator {
    schema: std::sync::Arc<jsonschema::Validator>,
}

#[cfg(feature = "json-schema")]
impl SchemaValidator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a schema that is not valid.
    pub fn new(schema: &serde_json::Value) -> Result<Self> {
        let compiled = jsonschema::validator_for(schema).map_err(|error| {
            Error::new(ErrorKind::Invalid, format!("the schema {schema} is not a JSON Schema: {error}"))
        })?;
        Ok(Self { schema: std::sync::Arc::new(compiled) })
    }
}

#[cfg(feature = "json-schema")]
#[async_trait]
impl Validator for SchemaValidator {
    async fn validate(&self, _: &Request, reply: &Reply) -> Result<Verdict> {
        if calls_tools(reply) {
            return Ok(Verdict::Valid);
        }
        let value = match serde_json::from_str(&reply.text()) {
            Ok(value) => value,
            Err(error) => return Ok(Verdict::Invalid(format!("it is not JSON: {error}"))),
        };
        let mut reasons = Vec::new();
        for error in self.schema.iter_errors(&value).take(3) {
            reasons.push(format!("at {:?}: {error}", error.instance_path().to_string()));
        }
        if reasons.is_empty() {
            return Ok(Verdict::Valid);
        }
        Ok(Verdict::Invalid(reasons.join("; ")))
    }
}

/// Accepts a text that a regular expression matches from end to end.
///
/// ```
/// use alloquy_core::{Message, Reply, Request};
/// use alloquy_guards::validate::{RegexValidator, Validator, Verdict};
///
/// let validator = RegexValidator::new("yes|no")?;
/// let reply = Reply::new(Message::assistant("yes!"));
/// let verdict = pollster::block_on(validator.validate(&Request::default(), &reply))?;
/// assert!(matches!(verdict, Verdict::Invalid(reason) if reason.contains("yes|no")));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RegexValidator {
    pattern: String,
    regex: Regex,
}

impl RegexValidator {
    /// Compiles a pattern in the notation of the crate `regex`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a pattern that is not valid.
    pub fn new(pattern: impl Into<String>) -> Result<Self> {
        let pattern = pattern.into();
        let regex = Regex::new(&format!(r"\A(?:{pattern})\z")).map_err(|source| {
            let words = format!("pattern {pattern:?} is not a regular expression");
            Error::new(ErrorKind::Invalid, words).with_source(source)
        })?;
        Ok(Self { pattern, regex })
    }
}

#[async_trait]
impl Validator for RegexValidator {
    async fn validate(&self, _: &Request, reply: &Reply) -> Result<Verdict> {
        if calls_tools(reply) || self.regex.is_match(&reply.text()) {
            return Ok(Verdict::Valid);
        }
        Ok(Verdict::Invalid(format!("it does not match the regular expression {}", self.pattern)))
    }
}

/// Accepts JSON that deserializes as `T`.
///
/// ```
/// use alloquy_core::{Message, Reply, Request};
/// use alloquy_guards::validate::{TypeValidator, Validator, Verdict};
///
/// let validator = TypeValidator::<Vec<u8>>::new();
/// let valid = Reply::new(Message::assistant("[1, 2]"));
/// assert_eq!(pollster::block_on(validator.validate(&Request::default(), &valid))?, Verdict::Valid);
/// let invalid = Reply::new(Message::assistant("[300]"));
/// assert_ne!(pollster::block_on(validator.validate(&Request::default(), &invalid))?, Verdict::Valid);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct TypeValidator<T>(PhantomData<fn() -> T>);

impl<T: DeserializeOwned> TypeValidator<T> {
    /// Creates the validator.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: DeserializeOwned> Default for TypeValidator<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TypeValidator<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("TypeValidator").field(&std::any::type_name::<T>()).finish()
    }
}

#[async_trait]
impl<T: DeserializeOwned> Validator for TypeValidator<T> {
    async fn validate(&self, _: &Request, reply: &Reply) -> Result<Verdict> {
        if calls_tools(reply) {
            return Ok(Verdict::Valid);
        }
        match serde_json::from_str::<T>(&reply.text()) {
            Ok(_) => Ok(Verdict::Valid),
            Err(error) => Ok(Verdict::Invalid(format!("its JSON does not fit: {error}"))),
        }
    }
}

fn calls_tools(reply: &Reply) -> bool {
    reply.message.tool_calls().next().is_some()
}
