//! A small terminal: what its lines show after a program has moved the cursor and erased some of it.

/// Returns the lines of a screen that is as wide as needed.
pub(super) fn rendered(bytes: &[u8]) -> Vec<String> {
    let mut screen = Screen { lines: vec![Vec::new()], row: 0, column: 0 };
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => screen.sequence(&mut rest),
            '\r' => screen.column = 0,
            '\n' => screen.down(),
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            character if character.is_control() => {}
            character => screen.put(character),
        }
    }
    while screen.lines.last().is_some_and(Vec::is_empty) {
        screen.lines.pop();
    }
    screen.lines.iter().map(|line| line.iter().collect()).collect()
}

struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn put(&mut self, character: char) {
        let line = &mut self.lines[self.row];
        while line.len() <= self.column {
            line.push(' ');
        }
        line[self.column] = character;
        self.column += 1;
    }

    fn down(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(Vec::new());
        }
    }

    /// Obeys a control sequence: those that move the cursor, and those that erase.
    fn sequence(&mut self, rest: &mut std::str::Chars<'_>) {
        if rest.next() != Some('[') {
            return;
        }
        let mut parameters = String::new();
        let end = rest.find(|character| {
            let is_end = ('@'..='~').contains(character);
            if !is_end {
                parameters.push(*character);
            }
            is_end
        });
        let count = parameters.parse().unwrap_or(1);
        match end {
            Some('A') => self.row = self.row.saturating_sub(count),
            Some('B') => (0..count).for_each(|_| self.down()),
            Some('C') => self.column += count,
            Some('D') => self.column = self.column.saturating_sub(count),
            Some('G') => self.column = count.saturating_sub(1),
            Some('K') if parameters == "2" => self.lines[self.row].clear(),
            Some('K') => self.lines[self.row].truncate(self.column),
            Some('J') => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            _ => {}
        }
    }
}
