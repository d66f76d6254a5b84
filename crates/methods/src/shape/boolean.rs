//! Boolean heaps as a base domain (Thread Quantification, sections 2 and 3): sets of objects by the variables that refer to them.
//!
//! In: threads whose steps only create objects, copy references and compare them. Out: views of the form "the thread is at l and
//! every object satisfies one of these conjunctions of literals x(t, v), g(v), null(v)": the formulas of table 2. One bit for each predicate, a
//! conjunction is a word, a Boolean heap is a set of words.
//! It shows the domain constructor on the paper's own example; `domain` is what the method uses. Fields are refused.

use super::quantified::{Base, Grown, OwnSteps};
use logic::{Node, Op, SortKind, Term};
use program::{ActionId, LocId, Program, PropertyId, Scope, ThreadId, VarId, VarKind};
use std::collections::BTreeSet;

/// A conjunction over all predicates: bit 0 is `null`, bit i + 1 says that variable i refers to the object.
pub(crate) type Word = u32;

/// A Boolean heap of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BooleanHeap {
    pub at: LocId,
    /// The conjunctions that some object satisfies; every object satisfies one of them.
    pub words: BTreeSet<Word>,
}

pub(crate) struct BooleanHeaps<'p> {
    program: &'p Program,
    thread: ThreadId,
    /// Shared variables, then the thread's own.
    vars: Vec<VarId>,
    shared: usize,
}

const NULL: Word = 1;
/// An object that no variable refers to.
const OTHER: Word = 0;

impl<'p> BooleanHeaps<'p> {
    pub(crate) fn new(program: &'p Program, thread: ThreadId) -> Result<Self, String> {
        let reference = |v: &VarId| matches!(program.terms.kind(program.vars[*v].sort), SortKind::Ref(_));
        let mut vars: Vec<VarId> =
            program.shared().filter(|v| program.vars[*v].kind == VarKind::Plain).filter(reference).collect();
        let shared = vars.len();
        vars.extend(program.threads[thread].locals.iter().copied().filter(reference));
        let heaps = Self { program, thread, vars, shared };
        for action in program.threads[thread].code.actions.iter() {
            for u in &action.updates {
                let known = heaps.vars.contains(&u.var)
                    || matches!(program.vars[u.var].kind, VarKind::Live(_) | VarKind::Field(_));
                if !known {
                    return Err(format!("{} is no reference", program.vars[u.var].name));
                }
            }
        }
        Ok(heaps)
    }
    fn mask(&self, var: VarId) -> Option<Word> {
        self.vars.iter().position(|v| *v == var).map(|i| 2 << i)
    }
    fn globals(&self) -> Word {
        ((2 << self.shared) - 2) | NULL
    }
    /// The word of the object that a term refers to; `None` for the new object.
    fn target(&self, words: &BTreeSet<Word>, term: Term) -> Option<Word> {
        match self.program.terms.node(term) {
            Node::Ref(_, 0) => words.iter().copied().find(|w| w & NULL != 0),
            Node::Sym(s) => {
                let var = self.program.var_of(s)?.0;
                let mask = self.mask(var)?;
                words.iter().copied().find(|w| w & mask != 0)
            }
            _ => None,
        }
    }
    /// A formula of equalities between references; `None` where it is none.
    pub(crate) fn holds(&self, words: &BTreeSet<Word>, formula: Term) -> Option<bool> {
        match self.program.terms.app(formula) {
            Some((Op::Not, a)) => self.holds(words, a[0]).map(|b| !b),
            Some((Op::Eq, a)) => Some(self.target(words, a[0])? == self.target(words, a[1])?),
            Some((Op::And, a)) => a.iter().try_fold(true, |all, x| Some(all & self.holds(words, *x)?)),
            None => match self.program.terms.node(formula) {
                Node::Bool(b) => Some(b),
                _ => None,
            },
            _ => None,
        }
    }
    /// The heap after the thread's own step.
    fn post(&self, heap: &BooleanHeap, id: ActionId) -> BooleanHeap {
        let action = &self.program.threads[self.thread].code.actions[id];
        let moves: Vec<(Word, Option<Word>)> = action
            .updates
            .iter()
            .filter_map(|u| Some((self.mask(u.var)?, self.target(&heap.words, u.value))))
            .collect();
        let moved = moves.iter().fold(0, |m, (mask, _)| m | mask);
        let mut words: BTreeSet<Word> = BTreeSet::new();
        for w in &heap.words {
            let now = moves.iter().filter(|(_, to)| *to == Some(*w)).fold(w & !moved, |m, (mask, _)| m | mask);
            words.insert(now);
        }
        let new = moves.iter().filter(|(_, to)| to.is_none()).fold(0, |m, (mask, _)| m | mask);
        if new != 0 {
            words.insert(new);
        }
        words.insert(OTHER);
        BooleanHeap { at: action.to, words }
    }
    /// The formula of a heap, in the words of table 2.
    pub(crate) fn show(&self, heap: &BooleanHeap) -> String {
        let literal = |w: Word, i: usize, v: VarId| {
            let not = if w & (2 << i) == 0 { "!" } else { "" };
            let t = if self.program.vars[v].scope == Scope::Shared { "" } else { "(t)" };
            format!("{not}{}{t}", self.program.vars[v].name)
        };
        let words: Vec<String> = heap
            .words
            .iter()
            .map(|w| {
                let mut parts: Vec<String> = self.vars.iter().enumerate().map(|(i, v)| literal(*w, i, *v)).collect();
                parts.push(if w & NULL == 0 { "!null".into() } else { "null".into() });
                format!("{{{}}}(v)", parts.join(" & "))
            })
            .collect();
        format!("at[{}](t) & forall v: {}", heap.at.0, words.join(" | "))
    }
}

impl Base for BooleanHeaps<'_> {
    type View = BooleanHeap;
    type Key = BooleanHeap;
    type Shared = ();
    type Step = ActionId;
    type Alarm = PropertyId;

    fn shared(&self, _: &BooleanHeap) -> Option<()> {
        None
    }
    fn key(&self, view: &BooleanHeap) -> BooleanHeap {
        view.clone()
    }
    fn join(&self, _: &mut BooleanHeap, _: &BooleanHeap) -> Grown {
        Grown::Same
    }
    fn initial(&self) -> Vec<BooleanHeap> {
        let all = (0..self.vars.len()).fold(NULL, |m, i| m | 2 << i);
        vec![BooleanHeap { at: self.program.threads[self.thread].code.entry, words: [all, OTHER].into() }]
    }
    fn own(&self, view: &BooleanHeap) -> OwnSteps<BooleanHeap, ActionId, PropertyId> {
        let mut own = OwnSteps { posts: Vec::new(), visible: Vec::new(), alarms: Vec::new() };
        let code = &self.program.threads[self.thread].code;
        for (id, action) in code.from(view.at) {
            let failed = action.gates.iter().find(|g| self.holds(&view.words, g.formula) != Some(true));
            if let Some(g) = failed {
                own.alarms.push((id, g.property));
                continue;
            }
            let post = self.post(view, id);
            // The basic transformer is enough where no shared variable moves: no other thread can see the step.
            if action.updates.iter().any(|u| self.mask(u.var).is_some_and(|m| m & self.globals() != 0)) {
                own.visible.push(id);
            }
            own.posts.push((id, post));
        }
        own
    }
    /// The refined transformer: the meet of two heaps pairs words that agree on the shared predicates.
    fn observe(&self, t: &BooleanHeap, sc: &BooleanHeap, step: ActionId) -> Result<Vec<BooleanHeap>, PropertyId> {
        let shared = self.globals();
        let on = |words: &BTreeSet<Word>| words.iter().map(|w| w & shared).collect::<BTreeSet<_>>();
        if on(&t.words) != on(&sc.words) {
            return Ok(Vec::new());
        }
        let action = &self.program.threads[self.thread].code.actions[step];
        let mut heaps: Vec<BTreeSet<Word>> = vec![t.words.clone()];
        for u in &action.updates {
            let Some(mask) = self.mask(u.var).filter(|m| m & shared != 0) else { continue };
            let Some(to) = self.target(&sc.words, u.value) else { continue };
            // sc's object is, for t, any object with the same shared predicates; a named object of sc is one of t's words.
            let mut next = Vec::new();
            for words in heaps {
                for w in words.iter().filter(|w| *w & shared == to & shared) {
                    let mut moved: BTreeSet<Word> = words.iter().map(|x| x & !mask).collect();
                    // An object that others stand for too leaves its word behind.
                    if w & !shared != 0 || w & NULL != 0 {
                        moved.remove(&(w & !mask));
                    }
                    moved.insert(w | mask);
                    moved.insert(OTHER);
                    next.push(moved);
                }
            }
            heaps = next;
        }
        Ok(heaps.into_iter().map(|words| BooleanHeap { at: t.at, words }).collect())
    }
}
