//! Lists for people and for programs: columns that fit the terminal, or fields with tabs between them.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::visible::on_one_line;

/// What separates columns.
const GAP: &str = "  ";

/// The fewest columns of the last cell of a row, however narrow the terminal is.
const LEAST: usize = 16;

/// Rows of cells. The last cell of a row is as long as it needs, and is cut where the row would not fit.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    header: [&'static str; N],
    rows: Vec<[String; N]>,
    /// The column of numbers, which are at the right.
    numbers: Option<usize>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(header: [&'static str; N]) -> Self {
        Self { header, rows: Vec::new(), numbers: None }
    }

    /// Sets the column of numbers.
    pub(crate) fn with_numbers(mut self, column: usize) -> Self {
        self.numbers = Some(column);
        self
    }

    pub(crate) fn push(&mut self, row: [String; N]) {
        self.rows.push(row.map(|cell| on_one_line(&cell)));
    }

    /// Returns the rows below their header, each on a line of at most `width` columns.
    pub(crate) fn aligned(&self, width: usize) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let header = self.header.map(str::to_owned);
        let widths: [usize; N] = std::array::from_fn(|column| {
            let cells = std::iter::once(&header).chain(&self.rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        });
        let mut text = String::new();
        for row in std::iter::once(&header).chain(&self.rows) {
            text += self.line(row, &widths, width).trim_end();
            text.push('\n');
        }
        text
    }

    fn line(&self, row: &[String], widths: &[usize], width: usize) -> String {
        let mut line = String::new();
        let mut used = 0;
        for (column, (cell, &wide)) in row.iter().zip(widths).enumerate() {
            if column + 1 == row.len() {
                line += &cut(cell, LEAST.max(width.saturating_sub(used)));
                continue;
            }
            let space = " ".repeat(wide - cell.width());
            line += &if self.numbers == Some(column) {
                format!("{space}{cell}")
            } else {
                format!("{cell}{space}")
            };
            line += GAP;
            used += wide + GAP.len();
        }
        line
    }
}

/// Returns the start of a text that fits into `width` columns; `…` replaces the rest.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut start = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        start.push(character);
    }
    format!("{}…", start.trim_end())
}

/// Returns fields on one line with tabs between them, for programs.
pub(crate) fn with_tabs<const N: usize>(fields: [&str; N]) -> String {
    format!("{}\n", fields.map(on_one_line).join("\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_the_script_and_rows_fit() {
        let mut table = Table::new(["ID", "N", "TITLE"]).with_numbers(1);
        table.push(["tea".into(), "7".into(), "Grüner\nTee".into()]);
        table.push(["茶".into(), "1234".into(), "お茶はいかがですか、それとも珈琲".into()]);
        insta::assert_snapshot!(table.aligned(34), @"
        ID      N  TITLE
        tea     7  Grüner Tee
        茶   1234  お茶はいかがですか、そ…
        ");
        assert!(table.aligned(34).lines().all(|line| line.width() <= 34));
        assert_eq!(Table::new(["ID"]).aligned(80), "");
    }

    #[test]
    fn a_field_has_no_tab_and_no_line_break() {
        assert_eq!(with_tabs(["a\tb", "", "c\nd"]), "a b\t\tc d\n");
    }
}
