//! The headings of Markdown, and its blocks of code.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::heading::Heading;
use super::lines::one_line;

/// Returns the headings, and the places of blocks of code and of tables.
pub(super) fn outline(text: &str) -> (Vec<Heading>, Vec<Range<usize>>) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut headings = Vec::new();
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut heading: Option<Heading> = None;
    for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some(Heading {
                    at: line_start(text, place.start),
                    level: level as u8,
                    title: String::new(),
                });
            }
            Event::End(TagEnd::Heading(_)) => {
                let ended = heading.take().filter(|heading| !heading.title.trim().is_empty());
                headings.extend(ended.map(|heading| Heading { title: one_line(&heading.title), ..heading }));
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.title.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut heading {
                    heading.title.push(' ');
                }
            }
            // A list item may contain blocks; those in others are part of them.
            Event::Start(Tag::CodeBlock(_) | Tag::Table(_))
                if blocks.last().is_none_or(|last| last.end <= place.start) =>
            {
                blocks.push(place);
            }
            _ => {}
        }
    }
    (headings, blocks)
}

/// Returns the beginning of the line with a byte.
fn line_start(text: &str, byte: usize) -> usize {
    text.get(..byte).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}
