//! What the document of OpenAPI has of a route. Each protocol lists its operations beside its routes.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::error::ErrorBody;

/// Returns the schema of a type, as a reference to a component.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The generators of schemas: what is read and what is written differ in what may be absent.
pub(crate) struct Schemas {
    /// For requests.
    pub(crate) read: SchemaGenerator,
    /// For answers.
    pub(crate) written: SchemaGenerator,
}

/// A method of a path: what it reads and what it answers.
///
/// ```text
/// Operation::get("/v1/models", "Lists the models.").answer::<ModelList>()
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: Option<SchemaOf>,
    headers: Vec<(&'static str, &'static str)>,
    body: Option<SchemaOf>,
    answers: Vec<OperationAnswer>,
    /// The form of errors, where it is not OpenAI's.
    errors: Option<SchemaOf>,
}

/// What is answered with a status.
#[derive(Clone, Debug)]
struct OperationAnswer {
    status: u16,
    content_type: &'static str,
    schema: Option<SchemaOf>,
}

impl Operation {
    fn new(method: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self {
            method,
            path,
            summary,
            query: None,
            headers: Vec::new(),
            body: None,
            answers: Vec::new(),
            errors: None,
        }
    }

    /// An operation of GET.
    pub(crate) fn get(path: &'static str, summary: &'static str) -> Self {
        Self::new("get", path, summary)
    }

    /// An operation of POST.
    pub(crate) fn post(path: &'static str, summary: &'static str) -> Self {
        Self::new("post", path, summary)
    }

    /// An operation of PUT.
    pub(crate) fn put(path: &'static str, summary: &'static str) -> Self {
        Self::new("put", path, summary)
    }

    /// An operation of DELETE.
    pub(crate) fn delete(path: &'static str, summary: &'static str) -> Self {
        Self::new("delete", path, summary)
    }

    /// Sets the type whose fields are the parameters of the query.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(SchemaGenerator::root_schema_for::<T>);
        self
    }

    /// Adds a header of the request, which may be absent.
    pub(crate) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.headers.push((name, description));
        self
    }

    /// Sets the type of the body.
    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Adds the type of the JSON that is answered with 200.
    pub(crate) fn answer<T: JsonSchema>(self) -> Self {
        self.answer_with::<T>(200)
    }

    /// Adds the type of the JSON that is answered with a status.
    pub(crate) fn answer_with<T: JsonSchema>(mut self, status: u16) -> Self {
        let schema: SchemaOf = SchemaGenerator::subschema_for::<T>;
        let answer = OperationAnswer { status, content_type: "application/json", schema: Some(schema) };
        self.answers.push(answer);
        self
    }

    /// The answer, or one of its forms, is a stream of server-sent events.
    pub(crate) fn events(self) -> Self {
        self.text("text/event-stream")
    }

    /// The answer, or one of its forms, is a text of this type.
    pub(crate) fn text(mut self, content_type: &'static str) -> Self {
        self.answers.push(OperationAnswer { status: 200, content_type, schema: None });
        self
    }

    /// The answer, or one of its forms, is bytes of this type, or of these types.
    pub(crate) fn bytes(self, content_types: &'static str) -> Self {
        self.text(content_types)
    }

    /// Sets the type of errors, where it is not [`ErrorBody`](crate::error::ErrorBody).
    pub(crate) fn errors<T: JsonSchema>(mut self) -> Self {
        self.errors = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Returns the path as OpenAPI writes it: `{*name}` is `{name}`.
    pub(crate) fn path(&self) -> String {
        self.path.replace("{*", "{")
    }

    /// Returns the method in lower case.
    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    /// Returns the object of the operation.
    pub(crate) fn json(&self, schemas: &mut Schemas) -> Value {
        let mut object = Map::new();
        object.insert("summary".to_owned(), self.summary.into());
        object.insert("operationId".to_owned(), self.id().into());
        let parameters = self.parameters(schemas);
        if !parameters.is_empty() {
            object.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(body) = self.body {
            let schema = body(&mut schemas.read);
            let content = json!({"application/json": {"schema": schema}});
            object.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
        }
        object.insert("responses".to_owned(), self.responses(schemas));
        Value::Object(object)
    }

    /// Returns the name of the operation, such as `get_v1_models`.
    fn id(&self) -> String {
        let mut id = self.method.to_owned();
        for part in self.path.split(['/', '{', '}', '*', '.']).filter(|part| !part.is_empty()) {
            id.push('_');
            id.push_str(part);
        }
        id
    }

    fn parameters(&self, schemas: &mut Schemas) -> Vec<Value> {
        let mut parameters = Vec::new();
        let path = self.path();
        for part in path.split('/') {
            if let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                parameters.push(
                    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
                );
            }
        }
        if let Some(query) = self.query {
            parameters.extend(query_parameters(&query(&mut schemas.read)));
        }
        for (name, description) in &self.headers {
            let schema = json!({"type": "string"});
            parameters
                .push(json!({"name": name, "in": "header", "description": description, "schema": schema}));
        }
        parameters
    }

    fn responses(&self, schemas: &mut Schemas) -> Value {
        let mut responses = Map::new();
        for answer in &self.answers {
            let media = match answer.schema {
                Some(schema) => json!({"schema": schema(&mut schemas.written)}),
                None => json!({"schema": {"type": "string"}}),
            };
            let response = responses
                .entry(answer.status.to_string())
                .or_insert_with(|| json!({"description": "As requested.", "content": {}}));
            if let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) {
                content.insert(answer.content_type.to_owned(), media);
            }
        }
        let errors = self.errors.unwrap_or(SchemaGenerator::subschema_for::<ErrorBody>);
        let content = json!({"application/json": {"schema": errors(&mut schemas.written)}});
        responses.insert(
            "default".to_owned(),
            json!({"description": "What was wrong, and where.", "content": content}),
        );
        Value::Object(responses)
    }
}

/// Returns the fields of a type as parameters of a query. A field that is an object is written as `name[KEY]=value`.
fn query_parameters(schema: &Schema) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut parameters = Vec::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut field = field.clone();
        let description = without_null(&mut field);
        let mut parameter =
            Map::from_iter([("name".to_owned(), json!(name)), ("in".to_owned(), json!("query"))]);
        if let Some(description) = description {
            parameter.insert("description".to_owned(), description);
        }
        if required.contains(&json!(name)) {
            parameter.insert("required".to_owned(), true.into());
        }
        if field.get("type") == Some(&json!("object")) {
            parameter.insert("style".to_owned(), "deepObject".into());
            parameter.insert("explode".to_owned(), true.into());
        }
        parameter.insert("schema".to_owned(), field);
        parameters.push(Value::Object(parameter));
    }
    parameters
}

/// Removes what a query cannot have, and returns the description: a parameter is absent, and never `null`.
fn without_null(field: &mut Value) -> Option<Value> {
    let fields = field.as_object_mut()?;
    fields.shift_remove("default");
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    fields.shift_remove("description")
}
