//! Walks over the terms inside a term, each once.

use crate::term::{Node, Term, Terms};
use rustc_hash::FxHashSet;

impl Terms {
    /// Shows every term within these, once each; the bodies of quantifiers too.
    pub fn each_subterm(&self, roots: impl IntoIterator<Item = Term>, mut look: impl FnMut(Term)) {
        let mut todo: Vec<Term> = roots.into_iter().collect();
        let mut seen = FxHashSet::default();
        while let Some(x) = todo.pop() {
            if !seen.insert(x) {
                continue;
            }
            look(x);
            match self.node(x) {
                Node::App(_, args) => todo.extend(args.iter()),
                Node::Quant(_, _, body) => todo.push(body),
                _ => {}
            }
        }
    }

    /// Whether there is a quantifier in the term.
    pub fn has_quantifier(&self, term: Term) -> bool {
        let (mut seen, mut todo) = (FxHashSet::default(), vec![term]);
        while let Some(x) = todo.pop() {
            match self.node(x) {
                Node::Quant(..) => return true,
                Node::App(_, args) => todo.extend(args.iter().filter(|a| seen.insert(**a))),
                _ => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::Sort;
    use crate::term::Quantifier;

    #[test]
    fn check_every_subterm_is_shown_once_and_quantifiers_are_found_inside() {
        let t = Terms::new();
        let (x, k) = (t.symbol("x", Sort::INT), t.symbol("k", Sort::INT));
        let less = t.lt(t.sym(k), t.sym(x));
        let all = t.quant(Quantifier::Forall, &[k], less);
        let both = t.and(&[less, all]);
        let mut seen = Vec::new();
        t.each_subterm([both, less], |y| seen.push(y));
        seen.sort_unstable();
        let mut expected = vec![both, less, all, t.sym(k), t.sym(x)];
        expected.sort_unstable();
        assert_eq!(seen, expected);
        assert!(t.has_quantifier(both) && !t.has_quantifier(less));
    }
}
