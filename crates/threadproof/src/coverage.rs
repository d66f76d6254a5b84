//! Which lines of a C program the executions reached, and which none of them did.
//!
//! In: a program in the core language, and by function and instruction whether some execution made it. Out: the lines with code that no
//! execution reached. A line counts as reached if one of its instructions was made; lines that are nothing but an error (`reach_error();`) and lines of headers do not
//! count. What is proved of a line that cannot be reached holds for want of a run, so a safe assertion on such a line gets a warning. Deliberately absent:
//! branches and conditions, and any conclusion from lines that were reached.

use base::Sources;
use core_lang::{CallTarget, Instruction, Module};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a line with code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineReach {
    /// Every state of the instances that were searched was seen, and none is there.
    Never,
    /// No run that was tried came there.
    NotSeen,
    Seen,
}

/// By file and line.
pub type ReachedLines = BTreeMap<(String, usize), LineReach>;

/// Lines that no execution reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub executions: u32,
    /// Lines with code.
    pub lines: usize,
    /// By file.
    pub missed: BTreeMap<String, BTreeSet<usize>>,
}

impl Coverage {
    /// Of the files with these names.
    pub fn of_executions(
        module: &Module,
        sources: &Sources,
        covered: &[Vec<bool>],
        files: &[String],
        executions: u32,
    ) -> Coverage {
        let lines = code_lines(module, sources, covered, files);
        let mut coverage = Coverage { executions, ..Coverage::default() };
        for ((file, line), reached) in lines {
            coverage.lines += 1;
            if !reached {
                coverage.missed.entry(file.to_string()).or_default().insert(line);
            }
        }
        coverage
    }

    pub fn misses(&self, file: &str, line: usize) -> bool {
        self.missed.get(file).is_some_and(|lines| lines.contains(&line))
    }

    /// `lines 3-5, 9`, or `file.c: 3-5, 9; ..`: the name left out where there is only one file.
    pub fn text(&self) -> String {
        let alone = self.missed.len() == 1;
        let part = |(file, lines): (&String, &BTreeSet<usize>)| {
            let shown = ranges(lines).join(", ");
            match (alone, lines.len()) {
                (true, 1) => format!("line {shown}"),
                (true, _) => format!("lines {shown}"),
                (false, _) => format!("{file}: {shown}"),
            }
        };
        self.missed.iter().map(part).collect::<Vec<_>>().join("; ")
    }
}

/// The lines with code, and whether one of their instructions was made. Lines that are nothing but an error are none of them.
pub fn code_lines<'s>(
    module: &Module,
    sources: &'s Sources,
    covered: &[Vec<bool>],
    files: &[String],
) -> BTreeMap<(&'s str, usize), bool> {
    let mut lines: BTreeMap<(&str, usize), bool> = BTreeMap::new();
    let mut only_errors: BTreeMap<(&str, usize), bool> = BTreeMap::new();
    for (function, made) in module.functions.iter().zip(covered) {
        // The last one ends a function that does not return by itself, and stands for no line.
        let written = function.code.len().saturating_sub(1);
        for ((instruction, span), made) in function.code.iter().zip(&function.spans).zip(made).take(written) {
            let Some(file) = sources.get(span.file).filter(|f| files.contains(&f.name)) else { continue };
            let at = (file.name.as_str(), file.position(span.start).0);
            *lines.entry(at).or_insert(false) |= *made;
            *only_errors.entry(at).or_insert(true) &= is_error(module, instruction);
        }
    }
    lines.retain(|at, _| !only_errors[at]);
    lines
}

fn ranges(lines: &BTreeSet<usize>) -> Vec<String> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => found.push((*line, *line)),
        }
    }
    found.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect()
}

/// Whether an instruction does nothing but report an error, or is what surrounds one.
fn is_error(module: &Module, instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Fail { .. } | Instruction::Unreachable { .. } | Instruction::Jump(_) => true,
        Instruction::Call { target: CallTarget::External(f), .. } => {
            matches!(module.externals[*f].name.as_str(), "__assert_fail" | "__assert" | "abort")
        }
        Instruction::ObjectAddress { .. } => true,
        _ => false,
    }
}

/// The places at which a program fails by itself: calls of `reach_error` and assertions.
pub fn assertion_sites(module: &Module) -> usize {
    let fails = |instruction: &Instruction| match instruction {
        Instruction::Fail { .. } => true,
        Instruction::Call { target: CallTarget::External(f), .. } => module.externals[*f].name.contains("assert"),
        _ => false,
    };
    let code = module.functions.iter().flat_map(|f| f.code.iter().zip(&f.spans));
    code.filter(|(instruction, _)| fails(instruction)).map(|(_, span)| *span).collect::<BTreeSet<_>>().len()
}
