//! What comes from outside the program, drawn: arguments of `main`, files that they name, lines that peers send.
//!
//! In: a module, for the words that it mentions, and random numbers. Out: words, arguments, texts. Whatever is drawn, the run is a possible one: who calls the program may hand it
//! anything. Words of the program itself are likelier to lead somewhere than any others. Deliberately absent: learning from what runs reached.

use crate::module::{Module, StorageClass};
use base::Random;

/// Words that are kept, and the length of one in bytes.
const MOST_WORDS: usize = 200;
const LONGEST_WORD: usize = 16;
/// Arguments that are drawn, and lines of a text.
const MOST_ARGUMENTS: usize = 4;
const MOST_LINES: usize = 8;
/// The name of the file that is there.
const FILE: &str = "input.txt";
const NUMBERS: [&str; 9] = ["1", "2", "3", "4", "8", "16", "0", "100", "-1"];

/// Short texts of the program's literals, in their order.
pub(crate) fn words(module: &Module) -> Vec<String> {
    let literals = module.objects.iter().filter(|o| o.class == StorageClass::Constant);
    let texts = literals.filter_map(|o| std::str::from_utf8(o.image.strip_suffix(&[0]).unwrap_or(&o.image)).ok());
    let mut words: Vec<String> = Vec::new();
    for word in texts.flat_map(|t| t.split_whitespace()) {
        let plain = (1..=LONGEST_WORD).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_graphic() && b != b'%');
        if plain && words.len() < MOST_WORDS && !words.iter().any(|w| w == word) {
            words.push(word.to_string());
        }
    }
    words
}

/// A word that somebody might hand to the program.
fn word(random: &mut Random, words: &[String]) -> String {
    match random.below(3) {
        0 => random.one_of(&NUMBERS).to_string(),
        1 if !words.is_empty() => random.one_of(words),
        _ => (0..1 + random.below(6)).map(|_| char::from(b'a' + random.below(26) as u8)).collect(),
    }
}

/// Some lines of some words.
pub(crate) fn draw_text(random: &mut Random, words: &[String]) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..1 + random.below(MOST_LINES) {
        let line: Vec<String> = (0..1 + random.below(5)).map(|_| word(random, words)).collect();
        text.push_str(&line.join(" "));
        text.push('\n');
    }
    text.into_bytes()
}

/// Arguments for `main`: none, numbers, options that the program's literals mention, the name of a file.
pub(crate) fn draw_arguments(random: &mut Random, words: &[String]) -> Vec<String> {
    // A text for `getopt` has a letter for each option.
    let options = words.iter().filter(|w| w.contains(':') && w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b':'));
    let letters: Vec<char> = options.flat_map(|w| w.chars()).filter(|c| *c != ':').collect();
    let flags: Vec<&String> = words.iter().filter(|w| w.starts_with('-') && w.len() > 1).collect();
    (0..random.below(MOST_ARGUMENTS + 1))
        .map(|_| match random.below(8) {
            0..3 => random.one_of(&NUMBERS).to_string(),
            3..5 if !letters.is_empty() => format!("-{}", random.one_of(&letters)),
            5 if !flags.is_empty() => random.one_of(&flags).clone(),
            3..6 => FILE.to_string(),
            _ => word(random, words),
        })
        .collect()
}

/// The files that arguments name and that are there, with a drawn text.
pub(crate) fn files_for(random: &mut Random, words: &[String], arguments: &[String]) -> Vec<(String, Vec<u8>)> {
    let named = arguments.iter().any(|a| a == FILE);
    if named { vec![(FILE.to_string(), draw_text(random, words))] } else { Vec::new() }
}
