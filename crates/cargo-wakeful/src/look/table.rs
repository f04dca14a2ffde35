//! Tables that fit a terminal.

#[cfg(test)]
mod tests;

/// The least width of a column that is shortened.
const SHORT: usize = 20;
const GAP: usize = 2;

/// How a column behaves.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Short text, never shortened.
    Text,
    /// As `Text`, on the right.
    Number,
    /// Text whose end is the most important part, such as a path.
    Path,
    /// Text whose beginning is the most important part.
    Long,
}

#[derive(Clone, Copy)]
pub struct Column {
    pub title: &'static str,
    pub kind: Kind,
    /// Columns with the highest rank are left out first. Those of rank 0 stay.
    pub rank: u8,
}

pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn add(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        // Names come from the program, and could otherwise command the terminal.
        let plain = |cell: String| cell.replace(char::is_control, "\u{fffd}");
        self.rows.push(row.into_iter().map(plain).collect());
    }

    /// Returns the lines of the table, at most `width` wide unless that is too little for the
    /// columns that stay. Columns without any content are left out.
    pub fn lines(mut self, width: Option<usize>) -> Vec<String> {
        let is_empty = |index: usize| self.rows.iter().all(|row| row[index].is_empty());
        let empty: Vec<usize> = (0..self.columns.len())
            .rev()
            .filter(|&index| self.columns[index].rank > 0 && is_empty(index))
            .collect();
        empty.into_iter().for_each(|index| self.leave_out(index));
        let mut widths = self.natural_widths();
        if let Some(width) = width {
            while !shrink(&mut widths, &self.columns, width) {
                let Some(index) = self.least_important() else { break };
                self.leave_out(index);
                widths = self.natural_widths();
            }
        }
        let titles = self.columns.iter().map(|column| column.title.to_owned()).collect();
        let rows = std::iter::once(&titles).chain(&self.rows);
        rows.map(|row| self.line(row, &widths)).collect()
    }

    fn leave_out(&mut self, index: usize) {
        self.columns.remove(index);
        self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
    }

    fn least_important(&self) -> Option<usize> {
        let ranked = self.columns.iter().enumerate().filter(|(_, column)| column.rank > 0);
        ranked.max_by_key(|(_, column)| column.rank).map(|(index, _)| index)
    }

    fn natural_widths(&self) -> Vec<usize> {
        let widest = |index: usize| self.rows.iter().map(|row| width_of(&row[index])).max();
        let columns = self.columns.iter().enumerate();
        columns.map(|(i, column)| widest(i).unwrap_or(0).max(column.title.len())).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, column), &width) in row.iter().zip(&self.columns).zip(widths) {
            let cell = shorten(cell, width, column.kind);
            let room = " ".repeat(width.saturating_sub(width_of(&cell)));
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            match column.kind {
                Kind::Number => line.extend([room.as_str(), &cell]),
                _ => line.extend([cell.as_str(), &room]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Shortens the columns that may be, the widest first. Returns whether all columns fit then.
fn shrink(widths: &mut [usize], columns: &[Column], width: usize) -> bool {
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let may_shrink = |&index: &usize| {
            matches!(columns[index].kind, Kind::Path | Kind::Long) && widths[index] > SHORT
        };
        match (0..widths.len()).filter(may_shrink).max_by_key(|&index| widths[index]) {
            Some(index) => widths[index] -= 1,
            None => return false,
        }
    }
    true
}

fn shorten(cell: &str, width: usize, kind: Kind) -> String {
    if width_of(cell) <= width {
        return cell.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut fits = |c: &char| {
        let fits = char_width(*c) <= room;
        room = room.saturating_sub(char_width(*c));
        fits
    };
    if kind == Kind::Path {
        let end: Vec<char> = cell.chars().rev().take_while(&mut fits).collect();
        return std::iter::once('…').chain(end.into_iter().rev()).collect();
    }
    cell.chars().take_while(&mut fits).chain(['…']).collect()
}

/// Shortens a line of text to the width of the terminal.
pub fn fit(line: &str, width: Option<usize>) -> String {
    shorten(line, width.unwrap_or(usize::MAX), Kind::Long)
}

/// Breaks a text between words into lines that leave a margin at both sides of the terminal.
pub fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
    let width = width.map_or(usize::MAX, |width| width.saturating_sub(2 * GAP).max(SHORT));
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the beginning");
        if line.is_empty() {
            *line = word.to_owned();
        } else if width_of(line) + 1 + width_of(word) <= width {
            *line += &format!(" {word}");
        } else {
            lines.push(format!("   {word}"));
        }
    }
    lines
}

fn width_of(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns how many columns of a terminal the character takes: two for those of East Asian scripts.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => {
            2
        }
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
