//! Namespaces: a request offers functions in groups. The model knows each of them by one name, which begins with that of its group.

use serde_json::Value;

/// The functions of a request that are in a namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Namespaces(Vec<Member>);

/// A function of a namespace.
#[derive(Clone, Debug, PartialEq)]
struct Member {
    joined: String,
    namespace: String,
    name: String,
}

impl Namespaces {
    /// Returns the name by which the model knows a function.
    pub(crate) fn joined(namespace: &str, name: &str) -> String {
        format!("{namespace}__{name}")
    }

    /// Reads those of the tools of a request, as its response repeats them.
    pub(crate) fn of_tools(tools: &[Value]) -> Self {
        let mut members = Vec::new();
        for tool in tools {
            let Some(Value::Array(inside)) = tool.get("tools") else { continue };
            let Some(namespace) = text(tool, "name") else { continue };
            for function in inside {
                let Some(name) = text(function, "name") else { continue };
                members.push(Member {
                    joined: Self::joined(namespace, name),
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                });
            }
        }
        Self(members)
    }

    /// Reads those of the request of a reply with this mark.
    pub(crate) fn of_mark(mark: &Value) -> Self {
        match mark.get("tools") {
            Some(Value::Array(tools)) => Self::of_tools(tools),
            _ => Self::default(),
        }
    }

    /// Returns the names by which the model knows the functions.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|member| member.joined.as_str())
    }

    /// Returns the namespace and the name of a function that the model has called by this name.
    pub(crate) fn split(&self, called: &str) -> Option<(&str, &str)> {
        let member = self.0.iter().find(|member| member.joined == called)?;
        Some((&member.namespace, &member.name))
    }
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}
