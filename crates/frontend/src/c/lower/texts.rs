//! Text in and out: what `printf`, `write`, `scanf` and their like read and write of the program's memory.
//!
//! In: a call, whose format is a string literal that the lowering knows. Out: every argument evaluated; a read of each
//! character that is written out, as far as precision and length say; a write of what is read in and of `%n`. What is printed does not
//! matter, what it reads does, to races and to valid accesses. Texts that a format or an input makes have characters that are not
//! followed. Absent, and unmodelled: formats that are no literals, wide characters, memory of a size that is not known.

use super::library::{LIBRARY, strip};
use super::*;
use crate::c::ast::*;
use crate::c::types::Int;

/// What a format does with one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    /// Its value is all that matters.
    Value,
    /// A width or a precision.
    Star,
    /// A text up to its end, or up to so many characters.
    Text(TextLength),
    /// Characters read in without an end, so many.
    Characters(i128),
    /// The number of characters so far is stored.
    Count,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextLength {
    Any,
    AtMost(i128),
    /// As the argument before it says.
    Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatDirection {
    Out,
    In,
}

/// Where the format of a function stands among its arguments, if it has one.
fn format_position(name: &str) -> Option<usize> {
    Some(match name {
        "printf" | "printk" | "vprintf" | "scanf" | "__isoc99_scanf" => 0,
        "fprintf" | "vfprintf" | "dprintf" | "syslog" | "vsyslog" | "fscanf" | "sscanf" | "__isoc99_fscanf"
        | "__isoc99_sscanf" => 1,
        _ => return None,
    })
}

/// The directives of a format, one for each argument it takes.
fn directives(format: &[u8], direction: FormatDirection) -> Vec<Directive> {
    let mut out = Vec::new();
    let mut at = 0;
    let number = |at: &mut usize| -> Option<i128> {
        let start = *at;
        while format.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        std::str::from_utf8(&format[start..*at]).ok()?.parse().ok()
    };
    while at < format.len() {
        at += 1;
        if format[at - 1] != b'%' {
            continue;
        }
        let mut stored = true;
        while let Some(flag) =
            format.get(at).filter(|c| b"-+ #0'I".contains(c) || (direction == FormatDirection::In && **c == b'*'))
        {
            stored &= *flag != b'*';
            at += 1;
        }
        let mut width = number(&mut at);
        // An argument by its position is not followed.
        if format.get(at) == Some(&b'$') {
            return vec![Directive::Unknown];
        }
        if format.get(at) == Some(&b'*') {
            out.push(Directive::Star);
            (at, width) = (at + 1, None);
        }
        let mut length = TextLength::Any;
        if format.get(at) == Some(&b'.') {
            at += 1;
            if format.get(at) == Some(&b'*') {
                out.push(Directive::Star);
                (at, length) = (at + 1, TextLength::Given);
            } else {
                length = TextLength::AtMost(number(&mut at).unwrap_or(0));
            }
        }
        let mut wide = false;
        while let Some(modifier) = format.get(at).filter(|c| b"hlLqjzt".contains(c)) {
            wide |= *modifier == b'l';
            at += 1;
        }
        let Some(conversion) = format.get(at).copied() else { break };
        at += 1;
        let directive = match (conversion, direction) {
            (b'%', _) | (b'm', FormatDirection::Out) => continue,
            (b's' | b'c' | b'[', _) if wide => Directive::Unknown,
            (b'S' | b'C', _) => Directive::Unknown,
            (b'n', _) => Directive::Count,
            (b's', FormatDirection::Out) => Directive::Text(length),
            (
                b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'p' | b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G',
                _,
            )
            | (b'c', FormatDirection::Out) => Directive::Value,
            (b'c', FormatDirection::In) => Directive::Characters(width.unwrap_or(1)),
            (b's' | b'[', FormatDirection::In) => {
                if conversion == b'[' {
                    at += usize::from(format.get(at) == Some(&b'^'));
                    at += usize::from(format.get(at) == Some(&b']'));
                    while format.get(at).is_some_and(|c| *c != b']') {
                        at += 1;
                    }
                    at += 1;
                }
                Directive::Text(width.map_or(TextLength::Any, TextLength::AtMost))
            }
            _ => Directive::Unknown,
        };
        if stored || directive == Directive::Unknown {
            out.push(directive);
        }
    }
    out
}

impl Lower<'_> {
    /// `Some` if the function writes text or bytes out, or reads text in.
    pub(super) fn text_call(&mut self, name: &str, args: &[Expr], ty: CType, span: Span) -> Option<Option<Term>> {
        let mut most = None;
        match name {
            "puts" | "perror" => self.print_text(args.first()?, None, span),
            "fputs" => {
                args.iter().skip(1).for_each(|a| self.effect(a));
                self.print_text(args.first()?, None, span);
            }
            "putchar" | "putc" | "fputc" | "putchar_unlocked" => args.iter().for_each(|a| self.print_value(a)),
            "write" => {
                self.print_value(args.first()?);
                let (from, count) = (self.value(strip(args.get(1)?)), self.value(args.get(2)?));
                self.read_bytes(name, from, strip(&args[1]).ty, count, span);
                most = Some((-1, count));
            }
            "fwrite" => {
                let (from, each) = (self.value(strip(args.first()?)), self.value(args.get(1)?));
                let number = self.value(args.get(2)?);
                self.effect(args.get(3)?);
                let count = self.b().mul(each, number);
                self.read_bytes(name, from, strip(&args[0]).ty, count, span);
                most = Some((0, number));
            }
            _ if name.ends_with("scanf") => {
                let at = format_position(name)?;
                match args.first().filter(|_| at == 1) {
                    Some(text) if name.ends_with("sscanf") => self.print_text(text, None, span),
                    leading => leading.into_iter().for_each(|a| self.effect(a)),
                }
                self.formatted(args.get(at..)?, name, FormatDirection::In, span);
            }
            _ => {
                let at = format_position(name)?;
                args.iter().take(at).for_each(|a| self.effect(a));
                self.formatted(args.get(at..)?, name, FormatDirection::Out, span);
            }
        }
        if self.cur.at.is_none() {
            return Some(None);
        }
        if self.unit.types.is_void(ty) {
            return Some(Some(self.terms.int(0)));
        }
        let result = match super::promises::promised(name) {
            Some(range) => self.nondet_in(Some(range), Sort::INT, span),
            None => self.nondet(ty, span),
        };
        if let Some((least, most)) = most {
            // No more than it was asked to write.
            let b = self.b();
            let within = b.and(b.le(b.num(least), result), b.or(b.le(result, most), b.le(result, b.num(0))));
            self.only_if(within, span);
        }
        Some(Some(result))
    }

    /// Whether what is only read can matter.
    fn looks_at_reads(&self) -> bool {
        self.checks(CCheck::Race) || self.checks(CCheck::Memory)
    }

    /// The characters of a string literal from an address on.
    fn literal_at(&self, address: Term) -> Option<Vec<u8>> {
        let address = self.b().as_num(address)?;
        let object = &self.objects[self.object_at(address)?];
        let id: u32 = object.key.strip_prefix("<text ")?.strip_suffix('>')?.parse().ok()?;
        let bytes = self.unit.texts.iter_enumerated().find(|(text, _)| text.0 == id)?.1;
        let from = usize::try_from(address - object.base).ok()?;
        Some(bytes.get(from..)?.iter().copied().take_while(|b| *b != 0).collect())
    }

    /// A format and its arguments.
    pub(super) fn formatted_out(&mut self, args: &[Expr], name: &str, span: Span) {
        self.formatted(args, name, FormatDirection::Out, span);
    }

    fn formatted(&mut self, args: &[Expr], name: &str, direction: FormatDirection, span: Span) {
        let Some((format, rest)) = args.split_first() else { return };
        let address = self.value(format);
        if self.cur.at.is_none() {
            return;
        }
        let list = name.trim_start_matches("__").starts_with('v');
        let Some(text) = self.literal_at(address) else {
            if rest.is_empty() && direction == FormatDirection::Out {
                return self.read_text(address, None, span);
            }
            return self.unmodelled(&format!("`{name}` with a format that is not a string literal"), span);
        };
        let mut wanted = directives(&text, direction).into_iter();
        if list {
            // What is in a list of arguments is not followed.
            let harmless = |d: Directive| matches!(d, Directive::Value | Directive::Star);
            let text = |d: Directive| matches!(d, Directive::Text(_)) && direction == FormatDirection::Out;
            if !wanted.all(|d| harmless(d) || (text(d) && !self.looks_at_reads())) {
                self.unmodelled(&format!("`{name}` of a list of arguments that points to memory"), span);
            }
            return rest.iter().for_each(|a| self.effect(a));
        }
        let mut given = None;
        for argument in rest {
            let directive = wanted.next();
            if !self.unit.types.is_scalar(argument.ty) {
                return self.unmodelled(&format!("`{name}` of this argument"), span);
            }
            match (directive, direction) {
                (Some(Directive::Unknown), _) => return self.unmodelled(&format!("this format of `{name}`"), span),
                (Some(Directive::Star), _) => given = Some(self.value(argument)),
                (Some(Directive::Count), _) | (Some(Directive::Value), FormatDirection::In) => {
                    self.havoc_behind(Some(argument), span);
                }
                (Some(Directive::Text(length)), FormatDirection::Out) => {
                    let most = match length {
                        TextLength::Any => None,
                        TextLength::AtMost(n) => Some(self.terms.int(n)),
                        TextLength::Given => given.take(),
                    };
                    self.print_text(argument, most, span);
                }
                (Some(Directive::Text(length)), FormatDirection::In) => {
                    let address = self.value(strip(argument));
                    let room = match length {
                        TextLength::AtMost(n) => Some(self.terms.int(n + 1)),
                        _ => None,
                    };
                    self.unfollowed_text(name, address, room, span);
                }
                (Some(Directive::Characters(n)), _) => {
                    let address = self.value(strip(argument));
                    let room = self.terms.int(n);
                    self.unfollowed_text(name, address, Some(room), span);
                }
                (Some(Directive::Value) | None, _) => self.print_value(argument),
            }
        }
    }

    /// An argument of which only the value is written out.
    pub(super) fn print_value(&mut self, e: &Expr) {
        // Where it has no effect of its own, its value does not matter.
        let before = self.cur.printing;
        self.cur.printing |= self.looks_pure(e);
        self.effect(e);
        self.cur.printing = before;
    }

    /// A text that is written out, up to its end or up to so many characters.
    fn print_text(&mut self, e: &Expr, most: Option<Term>, span: Span) {
        let literal = matches!(strip(e).kind, CExprKind::TextAddress(_));
        if !self.looks_at_reads() || literal {
            return self.effect(e);
        }
        let address = self.value(strip(e));
        if self.cur.at.is_some() && self.b().as_num(address) != Some(0) {
            self.read_text(address, most, span);
        }
    }

    fn read_text(&mut self, address: Term, most: Option<Term>, span: Span) {
        if !self.looks_at_reads() {
            return;
        }
        let (word, values) = match most {
            None => ("strlen", vec![address]),
            Some(most) => ("strnlen", vec![address, most]),
        };
        match self.unit.function(&format!("{LIBRARY}{word}")) {
            Some(body) => {
                let before = std::mem::replace(&mut self.cur.printing, true);
                self.inline_library(body, values, span);
                self.cur.printing = before;
            }
            None => self.unmodelled("the characters of a text that is written out", span),
        }
    }

    /// So many bytes from an address on are read.
    fn read_bytes(&mut self, name: &str, from: Term, ty: CType, count: Term, span: Span) {
        if self.cur.at.is_none() || !self.looks_at_reads() || self.b().as_num(count) == Some(0) {
            return;
        }
        let before = std::mem::replace(&mut self.cur.printing, true);
        let known = (self.b().as_num(from), self.b().as_num(count));
        let object = known.0.and_then(|a| self.object_at(a));
        let leaves = object.and_then(|o| match &self.objects[o].content {
            memory::Content::Leaves(l) if l.iter().all(|l| l.repeat.is_none() && !l.torn) => Some(l.clone()),
            _ => None,
        });
        if let ((Some(from), Some(count)), Some(object), Some(leaves)) = (known, object, leaves) {
            let start = from - self.objects[object].base;
            let end = start + count;
            for leaf in leaves.iter().filter(|l| l.bytes <= 1 && l.offset < end && start < l.offset + l.size) {
                let at = memory::Ref::Object(object, self.terms.int(leaf.offset));
                self.read(at, leaf.ty.unqualified(), span);
            }
            if end > self.objects[object].size {
                let no = self.terms.ff();
                self.require(access::Undefined::Deref, no, span);
            }
        } else {
            let character = self.unit.types.pointee(ty).is_some_and(|to| self.is_character(to));
            match self.unit.function(&format!("{LIBRARY}touch")).filter(|_| character) {
                Some(body) => {
                    self.inline_library(body, vec![from, count], span);
                }
                None => self.unmodelled(&format!("`{name}` of memory of this type or size"), span),
            }
        }
        self.cur.printing = before;
    }

    /// `snprintf` and its like: a text is written of which nothing is known but where it can be. Who looks at its characters,
    /// otherwise than to write them out, is not modelled.
    pub(super) fn format_text(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Term> {
        let (to, rest) = args.split_first()?;
        let address = self.value(strip(to));
        let (size, shown) = match name.ends_with("nprintf") {
            true => (Some(self.value(rest.first()?)), &rest[1..]),
            false => (None, rest),
        };
        self.formatted_out(shown, name, span);
        self.cur.at?;
        let nothing = [Some(address), size].into_iter().flatten().any(|t| self.b().as_num(t) == Some(0));
        if !nothing {
            self.unfollowed_text(name, address, size, span);
            self.cur.at?;
        }
        // A format that is nothing but text says how long it is.
        let plain = shown.first().map(|format| self.value(format)).and_then(|format| self.literal_at(format));
        match plain.filter(|text| !text.contains(&b'%')) {
            Some(text) => Some(self.terms.int(text.len() as i128)),
            None => Some(self.nondet_in(Some((0, i128::from(i32::MAX))), Sort::INT, span)),
        }
    }

    /// Characters that are not followed are written from an address on, as many as there is room for.
    fn unfollowed_text(&mut self, name: &str, address: Term, room: Option<Term>, span: Span) {
        if self.cur.at.is_none() {
            return;
        }
        let targets = self.targets(address);
        let ends = |lower: &Self, o: &ObjId| lower.objects[*o].base + lower.objects[*o].size;
        if self.checks(CCheck::Memory) {
            // Where the text ends is not known: only what has room for the longest is surely valid.
            let Some(room) = room else {
                return self.unmodelled(&format!("`{name}`, of a text of unknown length"), span);
            };
            let b = self.b();
            let fits = b.any(targets.iter().map(|o| {
                let begins = b.le(b.num(self.objects[*o].base), address);
                b.and(begins, b.le(b.add(address, room), b.num(ends(self, o))))
            }));
            self.only_modelled(fits, "a text that may be longer than the memory it is written to", span);
        }
        for object in &targets {
            if let memory::Content::Leaves(leaves) = &self.objects[*object].content {
                self.found.formatted.extend(leaves.iter().map(|l| l.slot));
            }
        }
        let longest = targets.iter().map(|o| self.objects[*o].size).max().unwrap_or(1);
        let longest = room.and_then(|s| self.b().as_num(s)).unwrap_or(longest).clamp(1, i128::from(i32::MAX));
        // Any of its characters stands for all.
        let (index, value) = (
            self.nondet_in(Some((0, longest - 1)), Sort::INT, span),
            self.nondet_in(Some(Int::Char.range(self.unit.types.model)), Sort::INT, span),
        );
        let at = self.settle(self.b().add(address, index));
        self.write(at, self.unit.char_type, value, span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_a_format_says_what_happens_to_each_argument() {
        use Directive::*;
        assert_eq!(directives(b"%d %% %5.3f %p %c", FormatDirection::Out), [Value, Value, Value, Value]);
        assert_eq!(
            directives(b"%s %.4s %.*s %n", FormatDirection::Out),
            [Text(TextLength::Any), Text(TextLength::AtMost(4)), Star, Text(TextLength::Given), Count]
        );
        assert_eq!(directives(b"%*d %ls", FormatDirection::Out), [Star, Value, Unknown]);
        assert_eq!(
            directives(b"%*d %d %7s %[^]a] %3c %n", FormatDirection::In),
            [Value, Text(TextLength::AtMost(7)), Text(TextLength::Any), Characters(3), Count]
        );
        assert_eq!(directives(b"%2$d", FormatDirection::Out), [Unknown]);
    }
}
