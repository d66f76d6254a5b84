//! SMT-LIB text with sharing: a graph of pieces, shared pieces bound by `let` in the widest scope where they mean the same.
//!
//! In: the graph. Out: text. A scope is an assertion or the body of a quantifier. In a scope, what is used twice without
//! crossing another quantifier is named once. A name is not used under a quantifier that binds a symbol of what it names.

use super::{SmtPiece, Text};
use logic::Quantifier;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

type Names = FxHashMap<u32, String>;

impl Text {
    /// Declarations and assertions of these formulas.
    pub(crate) fn script(&self, roots: &[u32]) -> String {
        let mut out = String::new();
        for at in self.constants(roots) {
            if let SmtPiece::Constant(name, sort) = self.piece(at) {
                out.push_str(&format!("(declare-const {name} {sort})\n"));
            }
        }
        let mentions = self.mentions();
        let mut counter = 0;
        for root in roots {
            out.push_str("(assert ");
            self.scope(*root, &Names::default(), &mentions, &mut counter, &mut out);
            out.push_str(")\n");
        }
        out
    }

    /// The constants that occur free, oldest first.
    pub(crate) fn constants(&self, roots: &[u32]) -> Vec<u32> {
        // A symbol that is bound here and free there is declared; one that is only bound need not be, and its
        // declaration does no harm.
        let (mut seen, mut out, mut todo) = (FxHashSet::default(), Vec::new(), roots.to_vec());
        while let Some(at) = todo.pop() {
            if !seen.insert(at) {
                continue;
            }
            match self.piece(at) {
                SmtPiece::Atom(_) => {}
                SmtPiece::Constant(..) => out.push(at),
                SmtPiece::Apply(_, args) => todo.extend(args.iter()),
                SmtPiece::Quantify(_, _, body) => todo.push(*body),
            }
        }
        out.sort_unstable();
        out
    }

    /// For each piece, the symbols in it that some quantifier binds somewhere; empty without quantifiers.
    fn mentions(&self) -> Vec<Option<Rc<[u32]>>> {
        if self.bound.is_empty() {
            return Vec::new();
        }
        let mut out: Vec<Option<Rc<[u32]>>> = Vec::with_capacity(self.pieces.len());
        for (at, piece) in self.pieces.iter().enumerate() {
            let at = at as u32;
            out.push(match piece {
                SmtPiece::Atom(_) => None,
                SmtPiece::Constant(..) => self.bound.contains(&at).then(|| [at].into()),
                SmtPiece::Apply(_, args) => {
                    let mut all: Vec<u32> =
                        args.iter().flat_map(|a| out[*a as usize].iter().flat_map(|m| m.iter().copied())).collect();
                    all.sort_unstable();
                    all.dedup();
                    (!all.is_empty()).then(|| all.into())
                }
                SmtPiece::Quantify(_, bound, body) => out[*body as usize].as_ref().and_then(|m| {
                    let rest: Vec<u32> = m.iter().copied().filter(|s| !bound.contains(s)).collect();
                    (!rest.is_empty()).then(|| rest.into())
                }),
            });
        }
        out
    }

    /// What is used more than once from `root` without crossing a quantifier, oldest first.
    fn shared(&self, root: u32, names: &Names) -> Vec<u32> {
        let (mut uses, mut todo): (FxHashMap<u32, u32>, _) = (FxHashMap::default(), vec![root]);
        while let Some(at) = todo.pop() {
            if names.contains_key(&at) {
                continue;
            }
            let args: &[u32] = match self.piece(at) {
                SmtPiece::Atom(_) | SmtPiece::Constant(..) => continue,
                SmtPiece::Apply(_, args) => args,
                SmtPiece::Quantify(..) => &[],
            };
            let count = uses.entry(at).or_insert(0);
            *count += 1;
            if *count == 1 {
                todo.extend(args);
            }
        }
        // A negative number is shorter than its name.
        let short = |at: u32| matches!(self.piece(at), SmtPiece::Apply(head, args) if head == "-" && args.len() == 1);
        let mut out: Vec<u32> = uses.into_iter().filter(|(at, n)| *n > 1 && !short(*at)).map(|(at, _)| at).collect();
        out.sort_unstable();
        out
    }

    fn scope(&self, root: u32, outer: &Names, mentions: &[Option<Rc<[u32]>>], counter: &mut u32, out: &mut String) {
        let mut names = outer.clone();
        let shared = self.shared(root, &names);
        for at in &shared {
            *counter += 1;
            let name = format!("?{counter}");
            out.push_str(&format!("(let (({name} "));
            self.write(*at, &names, mentions, counter, out);
            out.push_str(")) ");
            names.insert(*at, name);
        }
        self.write(root, &names, mentions, counter, out);
        out.push_str(&")".repeat(shared.len()));
    }

    /// Writes one piece, what has a name by its name. A loop: unshared pieces can be nested deeply.
    fn write(&self, root: u32, names: &Names, mentions: &[Option<Rc<[u32]>>], counter: &mut u32, out: &mut String) {
        enum Next {
            Piece(u32),
            Close,
        }
        let mut todo = vec![Next::Piece(root)];
        while let Some(next) = todo.pop() {
            let at = match next {
                Next::Close => {
                    out.push(')');
                    continue;
                }
                Next::Piece(at) => at,
            };
            if !out.ends_with(['(', ' ']) {
                out.push(' ');
            }
            if let Some(name) = names.get(&at) {
                out.push_str(name);
                continue;
            }
            match self.piece(at) {
                SmtPiece::Atom(text) | SmtPiece::Constant(text, _) => out.push_str(text),
                SmtPiece::Apply(head, args) => {
                    out.push('(');
                    out.push_str(head);
                    todo.push(Next::Close);
                    todo.extend(args.iter().rev().map(|a| Next::Piece(*a)));
                }
                SmtPiece::Quantify(q, bound, body) => {
                    out.push_str(if *q == Quantifier::Forall { "(forall (" } else { "(exists (" });
                    for b in bound {
                        if let SmtPiece::Constant(name, sort) = self.piece(*b) {
                            out.push_str(&format!("({name} {sort})"));
                        }
                    }
                    out.push_str(") ");
                    let still: Names = names
                        .iter()
                        .filter(|(at, _)| {
                            let inside = mentions.get(**at as usize).and_then(Option::as_ref);
                            !inside.is_some_and(|m| m.iter().any(|s| bound.contains(s)))
                        })
                        .map(|(at, name)| (*at, name.clone()))
                        .collect();
                    self.scope(*body, &still, mentions, counter, out);
                    out.push(')');
                }
            }
        }
    }
}
