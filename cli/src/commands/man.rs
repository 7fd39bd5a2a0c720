//! `alloquy man`: the manual, a page for each command.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use alloquy::core::{Error, ErrorKind, Result};
use clap::Args;
use clap_mangen::Man as Sections;
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  alloquy man > alloquy.1
  alloquy man ask | man -l -
  alloquy man --dir ~/.local/share/man/man1      every page; then `man alloquy-ask` finds them

The pages are in the format of man(1). Packages and archives of Alloquy contain them.";

/// Print a page of the manual, or write all of them into a folder
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Manual {
    /// The command of the page, such as ask, or models show; the program itself when absent
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into DIR, which is made if it does not exist
    #[arg(long, value_name = "DIR", env = "ALLOQUY_DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// A page: the name of its file, and its text.
struct Page {
    file: String,
    text: String,
}

impl Manual {
    /// Prints or writes the pages of the whole command line.
    pub(crate) fn run(self, program: clap::Command, context: &Context) -> Result<(), Failure> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let date = date();
        if let Some(folder) = &self.dir {
            let mut pages = Vec::new();
            add_pages(&program, &date, &mut pages);
            return write_pages(context, folder, &pages);
        }
        let mut command = &program;
        for name in &self.command {
            let Some(found) = command.find_subcommand(name) else {
                let message =
                    format!("{:?} is not a command; `alloquy help` lists them", self.command.join(" "));
                return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
            };
            command = found;
        }
        let page = page(command, &date);
        context.print_document(&page.text, &json!({"name": page.file, "text": page.text}))
    }
}

fn write_pages(context: &Context, folder: &Path, pages: &[Page]) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|source| unwritable(folder, source))?;
    let mut files = Vec::new();
    for page in pages {
        fs::write(folder.join(&page.file), &page.text).map_err(|source| unwritable(folder, source))?;
        files.push(page.file.as_str());
    }
    let text = format!("{} pages written into {}\n", pages.len(), folder.display());
    context.print(&text, &json!({"folder": folder.display().to_string(), "pages": files}))
}

fn unwritable(folder: &Path, source: std::io::Error) -> Error {
    let message = format!("the pages cannot be written into {folder:?}");
    Error::new(ErrorKind::Invalid, message).with_source(source)
}

/// Adds the page of a command, and those of the commands below it.
fn add_pages(command: &clap::Command, date: &str, pages: &mut Vec<Page>) {
    pages.push(page(command, date));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below, date, pages);
    }
}

fn page(command: &clap::Command, date: &str) -> Page {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut roff = Roff::new();
    let version = format!("Alloquy {}", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [name.to_uppercase().as_str(), "1", date, &version, "Alloquy"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {about}"))]);
    roff.control("SH", ["SYNOPSIS"]);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    for (number, line) in usage.lines().enumerate() {
        if number > 0 {
            roff.control("br", []);
        }
        roff.text([bold(line.trim())]);
    }
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(format!("{about}."))]);
    let mut text = roff.render();
    text += &lists(command);
    let after = command.get_after_long_help().or(command.get_after_help());
    text += &after_help(&after.map(ToString::to_string).unwrap_or_default());
    Page { file: format!("{name}.1"), text }
}

/// Returns the sections of flags and of commands below.
fn lists(command: &clap::Command) -> String {
    let sections = Sections::new(command.clone());
    let mut bytes = Vec::new();
    // A vector accepts everything that is written to it.
    let _ = sections.render_options_section(&mut bytes);
    if command.has_subcommands() {
        let _ = sections.render_subcommands_section(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut sections = String::new();
    for line in text.lines() {
        // Each section begins with a definition that the page has already.
        if !line.starts_with(".ie ") && !line.starts_with(".el ") {
            sections += line;
            sections.push('\n');
        }
    }
    sections
}

/// Formats the text after the flags: examples keep their lines, and so do indented ones.
fn after_help(text: &str) -> String {
    let mut roff = Roff::new();
    for block in text.split("\n\n") {
        let mut lines = block.lines().peekable();
        if lines.next_if(|line| *line == "Examples:").is_some() {
            roff.control("SH", ["EXAMPLES"]);
        } else if roff == Roff::new() || block == text {
            roff.control("SH", ["NOTES"]);
        } else {
            roff.control("PP", []);
        }
        let mut is_verbatim = false;
        for line in lines {
            let is_indented = line.starts_with("  ");
            if is_indented != is_verbatim {
                roff.control(if is_indented { "nf" } else { "fi" }, []);
                is_verbatim = is_indented;
            }
            roff.text([roman(line)]);
        }
        if is_verbatim {
            roff.control("fi", []);
        }
    }
    roff.to_roff()
}

/// Returns the date of the pages: that of `SOURCE_DATE_EPOCH`, with which packages are made, or the day on which this program was
/// built.
fn date() -> String {
    let variable = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.trim().parse().ok());
    let seconds = variable.unwrap_or_else(built);
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns when the file of this program was made, in seconds since 1970.
fn built() -> u64 {
    let modified = std::env::current_exe().and_then(fs::metadata).and_then(|metadata| metadata.modified());
    let since = modified.ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.as_ref().map_or(0, Duration::as_secs)
}

/// Returns the year, the month and the day that is so many days after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin with March here, so that the day that leap years add is the last one. An era is 400 years.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_782), (2026, 11, 25));
    }
}
