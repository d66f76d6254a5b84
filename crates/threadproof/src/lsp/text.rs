//! The text of an open document, and how positions of the protocol (UTF-16) stand in it.
//!
//! In: a text. Out: offsets for positions and positions for offsets. Deliberately absent: partial changes; a client sends whole texts.

use super::protocol::{TextPosition, TextRange};

/// The offset of a position; the end of the line where it is beyond it.
pub fn offset_of(text: &str, position: TextPosition) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(n) => start += n + 1,
            None => return text.len(),
        }
    }
    let mut units = 0;
    for (i, c) in text[start..].char_indices() {
        if units >= position.character || c == '\n' {
            return start + i;
        }
        units += c.len_utf16() as u32;
    }
    text.len()
}

pub fn position_of(text: &str, offset: usize) -> TextPosition {
    let offset = offset.min(text.len());
    let before = &text[..(0..=offset).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)];
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let line = before.matches('\n').count() as u32;
    TextPosition::new(line, before[start..].encode_utf16().count() as u32)
}

pub fn range_of(text: &str, at: std::ops::Range<usize>) -> TextRange {
    TextRange::new(position_of(text, at.start), position_of(text, at.end))
}

/// The range from a place (line and column from 1, in characters) to the end of its line.
pub fn range_at(text: &str, line: usize, column: usize) -> TextRange {
    let content = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    let units = |n: usize| content.chars().take(n).map(char::len_utf16).sum::<usize>() as u32;
    let row = line.saturating_sub(1) as u32;
    TextRange::new(
        TextPosition::new(row, units(column.saturating_sub(1))),
        TextPosition::new(row, units(content.chars().count())),
    )
}

/// The word at a position.
pub fn word_at(text: &str, at: TextPosition) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let offset = offset_of(text, at);
    let start =
        text[..offset].rfind(|c| !is_part(c)).map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
    let end = text[offset..].find(|c| !is_part(c)).map_or(text.len(), |i| offset + i);
    text.get(start..end).filter(|word| !word.is_empty())
}

/// Whether a text has the word, as a whole.
pub fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_positions_count_in_units_of_utf_16() {
        let text = "a\n𝄞x é\n";
        let x = text.find('x').expect("there");
        assert_eq!(position_of(text, x), TextPosition::new(1, 2));
        assert_eq!(offset_of(text, TextPosition::new(1, 2)), x);
        assert_eq!(offset_of(text, TextPosition::new(1, 99)), text.len() - 1);
        assert_eq!(offset_of(text, TextPosition::new(9, 0)), text.len());
    }
}
