//! What a step touches, and when a thread may touch it.
//!
//! In: actions and access predicates (`accessible_if`). Out: the places a step reads or writes, each with the condition under
//! which it does; the predicate of a place for a thread. What stands to the right of `&&`, `||` and `==>` or in a
//! branch is touched only where it decides the value. More places than a step touches are never wrong, fewer would
//! be: anything that is not understood counts as the whole variable. Calvin-R, section 3 (the sets V and the formulas A).

use crate::code::{Action, Code};
use crate::model::{Program, Scope, TouchMode, VarId, VarKind};
use crate::spec::StorePlace;
use crate::symbolic::SymbolicStore;
use logic::{Node, Op, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

/// A place that a step touches where `when` holds (over the store before it and its inputs).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TouchedPlace {
    pub when: Term,
    pub place: StorePlace,
    pub mode: TouchMode,
}

/// Finds touched places; one table of variables for many actions.
pub struct Touches<'a> {
    program: &'a Program,
    terms: &'a Terms,
    shared: FxHashMap<Symbol, VarId>,
}

impl<'a> Touches<'a> {
    /// Constants are left out: no thread can change them.
    pub fn new(program: &'a Program, terms: &'a Terms) -> Self {
        let constants = constants(program);
        let shared = program.shared().filter(|v| !constants.contains(v)).map(|v| (program.vars[v].symbol, v)).collect();
        Self { program, terms, shared }
    }

    /// Everything the action touches.
    pub fn of(&self, action: &Action) -> Vec<TouchedPlace> {
        if action.relation.is_some() {
            let kept = self.kept_entries(action);
            if !kept.is_empty() {
                return self.of_relation(action, &kept);
            }
        }
        let mut found = FoundAccesses::default();
        let mut when = self.terms.tt();
        self.reads(action.guard, when, &mut found);
        when = self.both(when, action.guard);
        for gate in &action.gates {
            self.reads(gate.formula, when, &mut found);
        }
        for u in &action.updates {
            self.written(u.var, Vec::new(), self.terms.sym(self.program.vars[u.var].symbol), u.value, when, &mut found);
        }
        found.list
    }

    /// Maps (and sets of objects) that a relational step gives another value, an input, of which its guard says that entries with some
    /// condition stay as they are.
    fn kept_entries(&self, action: &Action) -> Vec<KeptEntries> {
        let t = self.terms;
        let parts = t.conjuncts(action.guard);
        let mut out = Vec::new();
        for u in action.updates.iter().filter(|u| self.program.vars[u.var].scope == Scope::Shared) {
            let Some(input) = t.as_symbol(u.value).filter(|s| action.inputs.contains(s)) else { continue };
            let once = action.updates.iter().filter(|x| t.free_symbols(x.value).contains(&input)).count() == 1;
            let found = parts.iter().copied().find_map(|f| self.kept_by(f, u.var, input));
            out.extend(found.filter(|_| once));
        }
        out
    }

    /// `forall k :: stays ==> input[k] == map[k]`, where the map may have some entries of the input already.
    fn kept_by(&self, formula: Term, var: VarId, input: Symbol) -> Option<KeptEntries> {
        let t = self.terms;
        let Node::Quant(logic::Quantifier::Forall, bound, body) = t.node(formula) else { return None };
        let [key] = bound[..] else { return None };
        let Some((Op::Implies, args)) = t.app(body) else { return None };
        let (stays, same) = (args[0], args[1]);
        let Some((Op::Eq, sides)) = t.app(same) else { return None };
        let is_key = |x: Term| t.as_symbol(x) == Some(key);
        let of = |side: Term| match t.app(side)? {
            (Op::Select, args) if is_key(args[1]) => Some(args[0]),
            (Op::Member, args) if is_key(args[0]) => Some(args[1]),
            _ => None,
        };
        let (first, second) = (of(sides[0])?, of(sides[1])?);
        let (new, mut old) = if t.as_symbol(first) == Some(input) { (first, second) } else { (second, first) };
        if t.as_symbol(new) != Some(input) || t.free_symbols(stays).contains(&input) {
            return None;
        }
        let mut besides = Vec::new();
        while let Some((Op::Store, args)) = t.app(old) {
            besides.push((args[1], args[2]));
            old = args[0];
        }
        let whole = t.as_symbol(old) == Some(self.program.vars[var].symbol);
        let bound = |x: Term| t.free_symbols(x).contains(&key);
        let fits = |(k, v): &(Term, Term)| !bound(*k) && !bound(*v) && !t.free_symbols(*k).contains(&input);
        (whole && besides.iter().all(fits)).then_some(KeptEntries { var, input, formula, key, stays, besides })
    }

    /// What a relational step touches that leaves entries as they are: of such a map the other entries, and what the rest of it says of the input, which
    /// is the map itself where it stays.
    fn of_relation(&self, action: &Action, kept: &[KeptEntries]) -> Vec<TouchedPlace> {
        let t = self.terms;
        let mut found = FoundAccesses::default();
        let pairs: Vec<(Symbol, Term)> =
            kept.iter().map(|k| (k.input, t.sym(self.program.vars[k.var].symbol))).collect();
        let read = |x: Term, found: &mut FoundAccesses| {
            self.reads(x, t.tt(), found);
            self.reads(t.substitute(x, pairs.iter().copied()), t.tt(), found);
        };
        for f in t.conjuncts(action.guard).into_iter().filter(|f| !kept.iter().any(|k| k.formula == *f)) {
            read(f, &mut found);
        }
        for gate in &action.gates {
            read(gate.formula, &mut found);
        }
        for k in kept {
            // Any entry: what is shown of a touched place is shown for every value of its symbols.
            let any = t.sym(t.symbol(t.symbol_name(k.key), t.symbol_sort(k.key)));
            let stays = t.substitute(k.stays, [(k.key, any)]);
            read(stays, &mut found);
            let write = |when: Term, key: Term, found: &mut FoundAccesses| {
                let place = StorePlace { var: k.var, keys: vec![key] };
                found.add(TouchedPlace { when, place, mode: TouchMode::Write });
            };
            write(t.not(stays), any, &mut found);
            for (key, value) in &k.besides {
                write(t.tt(), *key, &mut found);
                read(*key, &mut found);
                read(*value, &mut found);
            }
        }
        for u in action.updates.iter().filter(|u| !kept.iter().any(|k| k.var == u.var)) {
            let old = t.sym(self.program.vars[u.var].symbol);
            self.written(u.var, Vec::new(), old, u.value, t.tt(), &mut found);
            read(u.value, &mut found);
        }
        found.list
    }

    /// What deciding whether the action can be taken touches.
    pub fn of_guard(&self, action: &Action) -> Vec<TouchedPlace> {
        self.of_term(action.guard)
    }

    /// What computing a value touches.
    pub fn of_term(&self, term: Term) -> Vec<TouchedPlace> {
        let mut found = FoundAccesses::default();
        self.reads(term, self.terms.tt(), &mut found);
        found.list
    }

    fn both(&self, a: Term, b: Term) -> Term {
        if self.terms.is_true(a) { b } else { self.terms.and(&[a, b]) }
    }

    /// An update of a place whose old value is `old`: only the entries stored into are touched.
    fn written(&self, var: VarId, keys: Vec<Term>, old: Term, value: Term, when: Term, found: &mut FoundAccesses) {
        if value == old {
            return;
        }
        let shared = self.program.vars[var].scope == Scope::Shared;
        match self.terms.app(value) {
            Some((Op::Store, args)) => {
                let mut deeper = keys.clone();
                deeper.push(args[1]);
                self.reads(args[1], when, found);
                self.written(var, deeper, self.terms.select(old, args[1]), args[2], when, found);
                self.written(var, keys, old, args[0], when, found);
            }
            // Which objects there are: only of the new one.
            Some((Op::Insert, args)) if keys.is_empty() && matches!(self.program.vars[var].kind, VarKind::Live(_)) => {
                self.reads(args[0], when, found);
                let place = StorePlace { var, keys: vec![args[0]] };
                found.add(TouchedPlace { when, place, mode: TouchMode::Write });
                self.written(var, keys, old, args[1], when, found);
            }
            Some((Op::Ite, args)) => {
                self.reads(args[0], when, found);
                self.written(var, keys.clone(), old, args[1], self.both(when, args[0]), found);
                self.written(var, keys, old, args[2], self.both(when, self.terms.not(args[0])), found);
            }
            _ => {
                if shared {
                    found.add(TouchedPlace { when, place: StorePlace { var, keys }, mode: TouchMode::Write });
                }
                self.reads(value, when, found);
            }
        }
    }

    fn reads(&self, term: Term, when: Term, found: &mut FoundAccesses) {
        if !found.seen.insert((term, when)) {
            return;
        }
        let t = self.terms;
        match t.node(term) {
            Node::Sym(s) => {
                if let Some(var) = self.shared.get(&s) {
                    found.read(when, *var, Vec::new());
                }
            }
            Node::App(Op::And, args) => {
                let mut when = when;
                for a in args.iter() {
                    self.reads(*a, when, found);
                    when = self.both(when, *a);
                }
            }
            Node::App(Op::Or, args) => {
                let mut when = when;
                for a in args.iter() {
                    self.reads(*a, when, found);
                    when = self.both(when, t.not(*a));
                }
            }
            Node::App(Op::Implies, args) => {
                self.reads(args[0], when, found);
                self.reads(args[1], self.both(when, args[0]), found);
            }
            Node::App(Op::Ite, args) => {
                self.reads(args[0], when, found);
                self.reads(args[1], self.both(when, args[0]), found);
                self.reads(args[2], self.both(when, t.not(args[0])), found);
            }
            Node::App(Op::Select, _) => self.entry(term, when, found),
            Node::App(Op::Member, args) if self.live(args[1]).is_some() => {
                let mut set = args[1];
                while let Some((Op::Insert, inner)) = t.app(set) {
                    self.reads(inner[0], when, found);
                    set = inner[1];
                }
                self.reads(args[0], when, found);
                if let Some(var) = self.live(set) {
                    found.read(when, var, vec![args[0]]);
                }
            }
            Node::App(_, args) => args.iter().for_each(|a| self.reads(*a, when, found)),
            Node::Quant(_, bound, body) => {
                let mut inner = FoundAccesses::default();
                self.reads(body, t.tt(), &mut inner);
                let free = |x: Term| !t.free_symbols(x).iter().any(|s| bound.contains(s));
                for mut touch in inner.list {
                    // A key that ranges over many values: the whole of what is below it.
                    let kept = touch.place.keys.iter().position(|k| !free(*k)).unwrap_or(touch.place.keys.len());
                    touch.place.keys.truncate(kept);
                    found.add(TouchedPlace { when, ..touch });
                }
            }
            Node::Bool(_) | Node::Num(..) | Node::Variant(..) | Node::Ref(..) => {}
        }
    }

    /// The variable for the objects that are there, also with some inserted.
    fn live(&self, set: Term) -> Option<VarId> {
        match self.terms.app(set) {
            Some((Op::Insert, args)) => self.live(args[1]),
            _ => {
                let var = self.terms.as_symbol(set).and_then(|s| self.shared.get(&s)).copied()?;
                matches!(self.program.vars[var].kind, VarKind::Live(_)).then_some(var)
            }
        }
    }

    /// `x[k][l]`: the entry, and what its keys touch. A map that was stored into is looked through.
    fn entry(&self, term: Term, when: Term, found: &mut FoundAccesses) {
        let (mut base, mut keys) = (term, Vec::new());
        loop {
            match self.terms.app(base) {
                Some((Op::Select, args)) => {
                    keys.push(args[1]);
                    base = args[0];
                }
                Some((Op::Store, args)) => {
                    self.reads(args[1], when, found);
                    self.reads(args[2], when, found);
                    base = args[0];
                }
                _ => break,
            }
        }
        keys.reverse();
        keys.iter().for_each(|k| self.reads(*k, when, found));
        match self.terms.as_symbol(base) {
            Some(s) => {
                if let Some(var) = self.shared.get(&s) {
                    found.read(when, *var, keys);
                }
            }
            None => self.reads(base, when, found),
        }
    }
}

/// A map whose entries with `stays` keep their values in a step that gives it the value `input`, but for the entries at `besides`.
struct KeptEntries {
    var: VarId,
    input: Symbol,
    formula: Term,
    key: Symbol,
    stays: Term,
    besides: Vec<(Term, Term)>,
}

#[derive(Default)]
struct FoundAccesses {
    list: Vec<TouchedPlace>,
    known: FxHashSet<TouchedPlace>,
    seen: FxHashSet<(Term, Term)>,
}

impl FoundAccesses {
    fn read(&mut self, when: Term, var: VarId, keys: Vec<Term>) {
        self.add(TouchedPlace { when, place: StorePlace { var, keys }, mode: TouchMode::Read });
    }

    fn add(&mut self, touch: TouchedPlace) {
        if self.known.insert(touch.clone()) {
            self.list.push(touch);
        }
    }
}

/// The access predicate of a place for a thread.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Symbols for the keys that the place does not give: the predicate is that of any entry.
    pub any: Vec<Symbol>,
    pub formula: Term,
}

/// The predicate of a place for reading or writing by the thread `who`, in a store. The keys and `who` are terms over the start of that store.
/// `None`: the variable has no predicate, and may be touched at any time. A predicate asked for with `?` is none.
pub fn predicate(
    program: &Program,
    terms: &Terms,
    place: &StorePlace,
    mode: TouchMode,
    who: Term,
    store: &SymbolicStore,
) -> Option<Predicate> {
    let access = program.vars[place.var].access.as_ref()?;
    let mut formula = access.of(mode)?;
    // The store's values may mention `tid` and the keys may mention variables: new symbols keep them apart.
    let thread = terms.symbol("thread", logic::Sort::INT);
    let fresh: Vec<Symbol> =
        access.binders.iter().map(|b| terms.symbol(terms.symbol_name(*b), terms.symbol_sort(*b))).collect();
    let apart = access.binders.iter().zip(&fresh).map(|(b, f)| (*b, terms.sym(*f)));
    formula = terms.substitute(formula, apart.chain([(program.tid, terms.sym(thread))]));
    formula = store.read(program, terms, formula);
    let given = fresh.iter().copied().zip(place.keys.iter().copied());
    formula = terms.substitute(formula, given.chain([(thread, who)]));
    Some(Predicate { any: fresh.get(place.keys.len()..).unwrap_or_default().to_vec(), formula })
}

/// Shared variables that never change: no initial value, no access predicate, and no code or specification of the file writes them.
/// (`const N: int;` is one.)
pub fn constants(program: &Program) -> FxHashSet<VarId> {
    let mut out: FxHashSet<VarId> = program
        .shared()
        .filter(|v| {
            let var = &program.vars[*v];
            var.kind == VarKind::Plain && var.access.is_none() && var.initial.is_none()
        })
        .collect();
    let mut codes: Vec<&Code> = Vec::new();
    for t in program.threads.iter() {
        codes.push(&t.code);
        codes.extend(t.outline.as_ref());
    }
    codes.extend(program.procedures.iter().map(|q| &q.code));
    codes.extend(program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code)));
    for code in codes {
        for u in code.actions.iter().flat_map(|a| &a.updates) {
            out.remove(&u.var);
        }
    }
    for q in program.procedures.iter() {
        for (_, action) in q.performs.iter().flat_map(|(p, _)| p.actions()) {
            for place in &action.frame {
                out.remove(&place.var);
            }
        }
    }
    for e in program.machines.iter().flat_map(|m| &m.edges) {
        for place in &e.action.frame {
            out.remove(&place.var);
        }
    }
    out
}

/// The `init` formulas that speak of constants alone: they hold for ever.
pub fn constant_facts(program: &Program, terms: &Terms) -> Vec<Term> {
    let constants = constants(program);
    let known: FxHashSet<Symbol> = constants.iter().map(|v| program.vars[*v].symbol).collect();
    let facts = program.init.iter().filter_map(|f| f.formula);
    let mut parts: Vec<Term> = facts.flat_map(|f| terms.conjuncts(f)).collect();
    parts.retain(|f| terms.free_symbols(*f).iter().all(|s| known.contains(s)));
    parts
}
