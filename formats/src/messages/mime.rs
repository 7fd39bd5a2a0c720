//! The form of MIME types.

/// Returns `type/subtype;name=value` with the type in lower case, or `None` when it is not of that form.
///
/// The characters are those of RFC 6838, section 4.2; parameters stay as they are.
pub(super) fn normal(media_type: &str) -> Option<String> {
    let (essence, parameters) = match media_type.find(';') {
        Some(at) => media_type.split_at(at),
        None => (media_type, ""),
    };
    let (kind, subtype) = essence.split_once('/')?;
    let well_formed = is_name(kind) && is_name(subtype) && parameters.split(';').skip(1).all(is_parameter);
    well_formed.then(|| essence.to_ascii_lowercase() + parameters)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 127
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
}

fn is_parameter(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| is_name(name) && is_name(value))
}
