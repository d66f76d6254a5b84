//! Constrained Horn clauses, by Spacer.
//!
//! In: relations with parameters, rules `R1(..) && .. && constraint ==> R(..)`, and goals (rules whose head is false).
//! Out: safe with one formula per relation that makes every rule valid, unsafe with the rules of a derivation, or
//! unknown. A solution is read back into terms and every rule is checked with it before it is given out: Spacer's
//! word alone is never passed on. Deliberately absent: incremental solving; each `solve` starts afresh, with
//! the lemmas that were supplied.

use crate::answer::{Machines, Satisfiability, Smt, SolverSettings, UnknownReason};
use crate::encode::{Encoder, EncodingPurpose, EncodingRefusal, EncodingTarget, Head};
use crate::watchdog;
use crate::z3::context::{Z3Context, text};
use crate::z3::decode::Decoder;
use crate::z3::meter::{Meter, limit_within};
use crate::z3::session::{Z3, unknown};
use base::Budget;
use logic::{Symbol, Term, Terms};
use z3_provider::library::*;

base::id_type!(
    /// A relation of a system of Horn clauses.
    Relation, "r"
);

/// A relation applied to terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    pub relation: Relation,
    pub args: Vec<Term>,
}

/// `body && constraint ==> head`; all free symbols are universally quantified. Without a head it is a goal: the body
/// must never hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HornClause {
    pub body: Vec<Atom>,
    pub constraint: Term,
    pub head: Option<Atom>,
}

/// What Spacer found, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HornAnswer {
    /// One formula for each relation, over its parameters.
    Safe(Vec<Term>),
    /// The numbers of the rules of a derivation of a goal, the goal's rule first, where Spacer names them.
    Unsafe(Vec<usize>),
    Unknown(UnknownReason),
}

struct Declared {
    name: String,
    params: Vec<Symbol>,
    lemmas: Vec<Term>,
}

/// A system of constrained Horn clauses over one table of terms.
pub struct Horn<'t> {
    terms: &'t Terms,
    settings: SolverSettings,
    budget: Budget,
    relations: Vec<Declared>,
    rules: Vec<HornClause>,
}

impl<'t> Horn<'t> {
    pub fn new(terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Self {
        // Spacer generalises over integers, not over bit vectors.
        let settings = SolverSettings { machines: Machines::Integers, ..settings };
        Self { terms, settings, budget: budget.clone(), relations: Vec::new(), rules: Vec::new() }
    }

    /// A relation with these parameters: solutions are formulas over them.
    pub fn relation(&mut self, name: impl Into<String>, params: &[Symbol]) -> Relation {
        self.relations.push(Declared { name: name.into(), params: params.to_vec(), lemmas: Vec::new() });
        Relation(self.relations.len() as u32 - 1)
    }

    pub fn params(&self, relation: Relation) -> &[Symbol] {
        &self.relations[relation.index()].params
    }

    /// Adds a rule and gives its number.
    pub fn rule(&mut self, rule: HornClause) -> usize {
        self.rules.push(rule);
        self.rules.len() - 1
    }

    /// Supplies a formula over the relation's parameters that is believed to hold wherever the relation does. It
    /// becomes part of the solution, and is checked with it: a wrong lemma loses the proof and nothing else.
    pub fn lemma(&mut self, relation: Relation, formula: Term) {
        self.relations[relation.index()].lemmas.push(formula);
    }

    /// Is every goal out of reach?
    pub fn solve(&mut self) -> HornAnswer {
        if let Err(why) = self.budget.check() {
            return HornAnswer::Unknown(UnknownReason::Stopped(why));
        }
        match SpacerRun::new(self).and_then(|mut engine| engine.run(self)) {
            Ok(answer) => answer,
            Err(HornFailure::Refused(refusal)) => HornAnswer::Unknown(UnknownReason::Refused(refusal.0)),
            Err(HornFailure::Because(reason)) => HornAnswer::Unknown(reason),
        }
    }

    /// The lemmas of a relation for these arguments.
    fn lemmas_of(&self, atom: &Atom) -> Vec<Term> {
        let declared = &self.relations[atom.relation.index()];
        declared.lemmas.iter().map(|l| self.instance(*l, atom)).collect()
    }

    /// A formula over the parameters, for these arguments.
    fn instance(&self, formula: Term, atom: &Atom) -> Term {
        let params = &self.relations[atom.relation.index()].params;
        self.terms.substitute(formula, params.iter().copied().zip(atom.args.iter().copied()))
    }

    /// Checks that formulas, one for each relation, make every rule valid; `Err` has the rule that fails or the reason.
    pub fn check(&self, solution: &[Term]) -> Result<(), UnknownReason> {
        let t = self.terms;
        let mut smt = Z3::new(t, self.settings, &self.budget)?;
        for (number, rule) in self.rules.iter().enumerate() {
            smt.push();
            for atom in &rule.body {
                smt.assert(self.instance(solution[atom.relation.index()], atom));
            }
            smt.assert(rule.constraint);
            if let Some(head) = &rule.head {
                smt.assert(t.not(self.instance(solution[head.relation.index()], head)));
            }
            let answer = smt.check();
            smt.pop();
            match answer {
                Satisfiability::Unsat => {}
                Satisfiability::Sat => {
                    return Err(UnknownReason::GaveUp(format!("the solution found does not satisfy rule {number}")));
                }
                Satisfiability::Unknown(reason) => return Err(reason),
            }
        }
        Ok(())
    }
}

enum HornFailure {
    Refused(EncodingRefusal),
    Because(UnknownReason),
}

impl From<EncodingRefusal> for HornFailure {
    fn from(refusal: EncodingRefusal) -> Self {
        HornFailure::Refused(refusal)
    }
}

/// One run of Spacer.
struct SpacerRun<'t> {
    encoder: Encoder<'t, Z3Context>,
    fixedpoint: Z3_fixedpoint,
    relations: Vec<Z3_func_decl>,
    goal: Z3_func_decl,
}

impl<'t> SpacerRun<'t> {
    fn new(horn: &Horn<'t>) -> Result<Self, HornFailure> {
        let context = Z3Context::new()?;
        let c = context.raw;
        // SAFETY: calls on a context that only we use; the objects are counted until `drop`.
        unsafe {
            let fixedpoint = Z3_mk_fixedpoint(c).ok_or_else(|| context.complaint())?;
            Z3_fixedpoint_inc_ref(c, fixedpoint);
            let limit = limit_within(horn.settings.limit, &horn.budget);
            set_params(&context, fixedpoint, SolverSettings { limit, ..horn.settings })?;
            let goal = declare(&context, fixedpoint, "goal", &[])?;
            let mut engine = Self {
                encoder: Encoder::new(horn.terms, context, Machines::Integers, EncodingPurpose::Horn),
                fixedpoint,
                relations: Vec::new(),
                goal,
            };
            for (at, relation) in horn.relations.iter().enumerate() {
                let mut sorts = Vec::new();
                for p in &relation.params {
                    if engine.encoder.has_seq(horn.terms.symbol_sort(*p)) {
                        return Err(EncodingRefusal::new("sequences in Horn rules").into());
                    }
                    let shape = engine.encoder.shape(horn.terms.symbol_sort(*p));
                    sorts.push(engine.encoder.target.sort(&shape)?);
                }
                let name = format!("{}#{at}", relation.name);
                let declared = declare(&engine.encoder.target, fixedpoint, &name, &sorts)?;
                engine.relations.push(declared);
            }
            for (number, rule) in horn.rules.iter().enumerate() {
                engine.add(horn, number, rule)?;
            }
            Ok(engine)
        }
    }

    fn raw(&self) -> Z3_context {
        self.encoder.target.raw
    }

    fn add(&mut self, horn: &Horn<'t>, number: usize, rule: &HornClause) -> Result<(), HornFailure> {
        let mut sides = Vec::new();
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut parts = Vec::new();
        for atom in &rule.body {
            parts.push(self.atom(horn, atom, &mut sides, &mut symbols)?);
        }
        let lemmas = rule.body.iter().flat_map(|atom| horn.lemmas_of(atom));
        for formula in lemmas.chain([rule.constraint]).collect::<Vec<_>>() {
            parts.push(self.term(horn, formula, &mut sides, &mut symbols)?);
        }
        let head = match &rule.head {
            Some(atom) => self.atom(horn, atom, &mut sides, &mut symbols)?,
            // SAFETY: a nullary function of the context.
            None => self.encoder.target.keep(unsafe { Z3_mk_app(self.raw(), self.goal, 0, std::ptr::null()) })?,
        };
        sides.sort_unstable();
        sides.dedup();
        parts.extend(sides.iter().map(|at| self.encoder.side(*at).expr));
        let body = self.encoder.target.apply(&Head::And, &parts)?;
        let mut clause = self.encoder.target.apply(&Head::Implies, &[body, head])?;
        if !symbols.is_empty() {
            let bound = symbols.iter().map(|s| self.encoder.symbol(*s)).collect::<Result<Vec<_>, _>>()?;
            clause = self.encoder.target.quantify(logic::Quantifier::Forall, &bound, clause)?;
        }
        let name = self.encoder.target.string_symbol(&format!("rule{number}"))?;
        // SAFETY: clause and name belong to the context.
        unsafe { Z3_fixedpoint_add_rule(self.raw(), self.fixedpoint, clause, Some(name)) };
        if self.encoder.target.failed() {
            return Err(self.encoder.target.complaint().into());
        }
        Ok(())
    }

    fn term(
        &mut self,
        horn: &Horn<'t>,
        term: Term,
        sides: &mut Vec<u32>,
        symbols: &mut Vec<Symbol>,
    ) -> Result<Z3_ast, HornFailure> {
        let encoded = self.encoder.encode(term)?;
        sides.extend(encoded.sides.iter().flat_map(|s| s.iter()));
        for s in horn.terms.free_symbols(term) {
            if !symbols.contains(&s) {
                symbols.push(s);
            }
        }
        Ok(encoded.expr)
    }

    fn atom(
        &mut self,
        horn: &Horn<'t>,
        atom: &Atom,
        sides: &mut Vec<u32>,
        symbols: &mut Vec<Symbol>,
    ) -> Result<Z3_ast, HornFailure> {
        let args = atom.args.iter().map(|a| self.term(horn, *a, sides, symbols)).collect::<Result<Vec<Z3_ast>, _>>()?;
        let relation = self.relations[atom.relation.index()];
        // SAFETY: relation and arguments belong to the context; the array lives through the call.
        let made = unsafe { Z3_mk_app(self.raw(), relation, args.len() as u32, args.as_ptr()) };
        Ok(self.encoder.target.keep(made)?)
    }

    fn run(&mut self, horn: &Horn<'t>) -> Result<HornAnswer, HornFailure> {
        let c = self.raw();
        // SAFETY: the goal is a nullary function of the context.
        let goal = self.encoder.target.keep(unsafe { Z3_mk_app(c, self.goal, 0, std::ptr::null()) })?;
        let said = {
            let _watched = watchdog::guard(c, &horn.budget);
            // The sister call that takes relations does not keep the resource limit.
            // SAFETY: the goal belongs to the context.
            unsafe { Z3_fixedpoint_query(c, self.fixedpoint, goal) }
        };
        let failed = self.encoder.target.failed();
        // SAFETY: the fixedpoint belongs to the context.
        let statistics = unsafe { Z3_fixedpoint_get_statistics(c, self.fixedpoint) };
        Meter::default().read(c, statistics, &horn.budget);
        match said {
            Z3_L_FALSE if !failed => {
                let solution = self.solution(horn).ok_or_else(|| {
                    HornFailure::Because(UnknownReason::GaveUp("the solution found cannot be said in our terms".into()))
                })?;
                horn.check(&solution).map_err(HornFailure::Because)?;
                Ok(HornAnswer::Safe(solution))
            }
            Z3_L_TRUE if !failed => Ok(HornAnswer::Unsafe(self.derivation())),
            _ => {
                horn.budget.check().map_err(|why| HornFailure::Because(UnknownReason::Stopped(why)))?;
                // SAFETY: the text is copied at once.
                let explanation = text(unsafe { Z3_fixedpoint_get_reason_unknown(c, self.fixedpoint) });
                let explanation = if failed { self.encoder.target.complaint().0 } else { explanation };
                Err(HornFailure::Because(unknown(explanation)))
            }
        }
    }

    /// The invariant of each relation, with its lemmas.
    fn solution(&self, horn: &Horn<'t>) -> Option<Vec<Term>> {
        let (c, t) = (self.raw(), horn.terms);
        let mut out = Vec::new();
        for (relation, declared) in self.relations.iter().zip(&horn.relations) {
            // SAFETY: the relation is registered; the formula is kept with the context.
            let cover = unsafe { Z3_fixedpoint_get_cover_delta(c, self.fixedpoint, -1, *relation) };
            let cover = self.encoder.target.keep(cover).ok()?;
            let params: Vec<Term> = declared.params.iter().map(|p| t.sym(*p)).collect();
            let mut parts = t.conjuncts(Decoder::new(&self.encoder.target, t, &params).formula(cover)?);
            parts.extend(&declared.lemmas);
            parts.retain(|p| !t.is_true(*p));
            out.push(t.and(&parts));
        }
        Some(out)
    }

    /// The rules of the derivation, by the names we gave them.
    fn derivation(&self) -> Vec<usize> {
        let c = self.raw();
        // SAFETY: the text is copied at once.
        let names = unsafe {
            let joined = Z3_fixedpoint_get_rule_names_along_trace(c, self.fixedpoint);
            joined.map_or_else(String::new, |symbol| text(Z3_get_symbol_string(c, symbol)))
        };
        names.split(';').filter_map(|name| name.strip_prefix("rule")?.parse().ok()).collect()
    }
}

impl Drop for SpacerRun<'_> {
    fn drop(&mut self) {
        // SAFETY: counted when it was made; the context goes after it.
        unsafe { Z3_fixedpoint_dec_ref(self.raw(), self.fixedpoint) };
    }
}

unsafe fn set_params(
    context: &Z3Context,
    fixedpoint: Z3_fixedpoint,
    settings: SolverSettings,
) -> Result<(), EncodingRefusal> {
    let c = context.raw;
    // SAFETY: the caller passes a fixedpoint of the context.
    unsafe {
        let params = Z3_mk_params(c).ok_or_else(|| context.complaint())?;
        Z3_params_inc_ref(c, params);
        Z3_params_set_symbol(c, params, context.string_symbol("engine")?, context.string_symbol("spacer")?);
        // Relations that are inlined or sliced away would have no invariant to read back.
        for name in ["xform.inline_eager", "xform.inline_linear", "xform.slice", "ctrl_c"] {
            Z3_params_set_bool(c, params, context.string_symbol(name)?, false);
        }
        Z3_params_set_uint(c, params, context.string_symbol("spacer.random_seed")?, settings.seed);
        Z3_params_set_uint(c, params, context.string_symbol("rlimit")?, settings.limit);
        Z3_fixedpoint_set_params(c, fixedpoint, params);
        Z3_params_dec_ref(c, params);
        if context.failed() { Err(context.complaint()) } else { Ok(()) }
    }
}

unsafe fn declare(
    context: &Z3Context,
    fixedpoint: Z3_fixedpoint,
    name: &str,
    sorts: &[Z3_sort],
) -> Result<Z3_func_decl, EncodingRefusal> {
    let c = context.raw;
    let name = context.string_symbol(name)?;
    // SAFETY: the caller passes a fixedpoint and sorts of the context; the function is kept with it.
    unsafe {
        let bool = Z3_mk_bool_sort(c).ok_or_else(|| context.complaint())?;
        let made = Z3_mk_func_decl(c, name, sorts.len() as u32, sorts.as_ptr(), bool);
        let made = made.ok_or_else(|| context.complaint())?;
        context.keep(Z3_func_decl_to_ast(c, made))?;
        Z3_fixedpoint_register_relation(c, fixedpoint, made);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::{MachineIntSort, Op, Sort, SortKind};

    /// `x := start; while x < bound { x := x + step }`, and the goal `x > bad`.
    fn counter(t: &Terms, sort: Sort, bad: i128) -> Horn<'_> {
        let mut horn = Horn::new(t, SolverSettings::default(), &Budget::unlimited());
        let x = t.symbol("x", sort);
        let at = horn.relation("loop", &[x]);
        let now = t.sym(t.symbol("now", sort));
        let (zero, one) = (t.num(0, sort), t.num(1, sort));
        let here = |term| Atom { relation: at, args: vec![term] };
        horn.rule(HornClause { body: vec![], constraint: t.tt(), head: Some(here(zero)) });
        let below = t.lt(now, t.num(10, sort));
        horn.rule(HornClause { body: vec![here(now)], constraint: below, head: Some(here(t.add(now, one))) });
        horn.rule(HornClause { body: vec![here(now)], constraint: t.lt(t.num(bad, sort), now), head: None });
        horn
    }

    #[test]
    fn check_a_counter_is_safe_with_a_solution_that_holds() {
        let t = Terms::new();
        for sort in [Sort::INT, Sort::machine(MachineIntSort { bits: 8, signed: false })] {
            let mut horn = counter(&t, sort, 10);
            let HornAnswer::Safe(solution) = horn.solve() else { panic!("safe") };
            assert_eq!(horn.check(&solution), Ok(()));
            assert!(horn.check(&[t.tt()]).is_err(), "true is no solution");
            assert!(horn.check(&[t.ff()]).is_err(), "false is no solution");
        }
    }

    #[test]
    fn check_a_counter_that_goes_too_far_is_unsafe_with_its_rules() {
        let t = Terms::new();
        let mut horn = counter(&t, Sort::INT, 3);
        let HornAnswer::Unsafe(rules) = horn.solve() else { panic!("unsafe") };
        assert_eq!(rules, vec![2, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn check_maps_enums_and_references_are_read_back() {
        let t = Terms::new();
        let phase = t.declare_enum("Phase", vec!["Idle".into(), "Busy".into(), "Done".into()]);
        let class = t.declare_class("Node");
        let (e, r) = (t.sort(SortKind::Enum(phase)), t.sort(SortKind::Ref(class)));
        let map = t.map_sort(Sort::INT, Sort::BOOL);
        let mut horn = Horn::new(&t, SolverSettings::default(), &Budget::unlimited());
        let params = [t.symbol("p", e), t.symbol("o", r), t.symbol("m", map)];
        let at = horn.relation("state", &params);
        let (p, o, m) = (t.sym(t.symbol("p", e)), t.sym(t.symbol("o", r)), t.sym(t.symbol("m", map)));
        let state = |p, o, m| Atom { relation: at, args: vec![p, o, m] };
        let (idle, busy, done) = (t.variant(phase, 0), t.variant(phase, 1), t.variant(phase, 2));
        let fresh = t.sym(t.symbol("fresh", r));
        horn.rule(HornClause {
            body: vec![],
            constraint: t.not(t.select(m, t.int(5))),
            head: Some(state(idle, t.null(class), m)),
        });
        let new = t.and(&[t.eq(p, idle), t.ne(fresh, t.null(class))]);
        horn.rule(HornClause { body: vec![state(p, o, m)], constraint: new, head: Some(state(busy, fresh, m)) });
        let write = t.store(m, t.int(7), t.tt());
        horn.rule(HornClause {
            body: vec![state(p, o, m)],
            constraint: t.eq(p, busy),
            head: Some(state(done, o, write)),
        });
        let bad = t.or(&[
            t.and(&[t.eq(p, done), t.eq(o, t.null(class))]),
            t.select(m, t.int(5)),
            t.and(&[t.eq(p, done), t.not(t.select(m, t.int(7)))]),
        ]);
        horn.rule(HornClause { body: vec![state(p, o, m)], constraint: bad, head: None });
        let answer = horn.solve();
        let HornAnswer::Safe(solution) = answer else { panic!("{answer:?}") };
        assert_eq!(t.free_symbols(solution[0]).iter().filter(|s| !params.contains(s)).count(), 0);
    }

    #[test]
    fn check_a_wrong_lemma_loses_the_proof_and_a_right_one_joins_it() {
        let t = Terms::new();
        let mut horn = counter(&t, Sort::INT, 10);
        let x = t.sym(horn.params(Relation(0))[0]);
        horn.lemma(Relation(0), t.le(t.int(0), x));
        let HornAnswer::Safe(solution) = horn.solve() else { panic!("safe") };
        assert!(t.conjuncts(solution[0]).contains(&t.le(t.int(0), x)));
        let mut horn = counter(&t, Sort::INT, 3);
        let x = t.sym(horn.params(Relation(0))[0]);
        horn.lemma(Relation(0), t.le(x, t.int(2)));
        assert!(matches!(horn.solve(), HornAnswer::Unknown(_)), "a goal within reach is never safe");
    }

    #[test]
    fn check_sequences_are_refused() {
        let t = Terms::new();
        let seq = t.sort(SortKind::Seq(Sort::INT));
        let mut horn = Horn::new(&t, SolverSettings::default(), &Budget::unlimited());
        horn.relation("state", &[t.symbol("q", seq)]);
        assert!(matches!(horn.solve(), HornAnswer::Unknown(UnknownReason::Refused(_))));
    }

    #[test]
    fn check_cancelling_and_the_limit_stop_spacer() {
        let t = Terms::new();
        // Two counters whose product must be tracked: far beyond a tiny limit.
        let build = |settings, budget: &Budget| {
            let mut horn = Horn::new(&t, settings, budget);
            let (x, y) = (t.symbol("x", Sort::INT), t.symbol("y", Sort::INT));
            let at = horn.relation("loop", &[x, y]);
            let (a, b) = (t.sym(t.symbol("a", Sort::INT)), t.sym(t.symbol("b", Sort::INT)));
            let here = |a, b| Atom { relation: at, args: vec![a, b] };
            horn.rule(HornClause { body: vec![], constraint: t.tt(), head: Some(here(t.int(0), t.int(0))) });
            let next = here(t.add(a, t.int(1)), t.add(b, t.mk(Op::Mod, &[t.mul(a, a), t.int(7)])));
            horn.rule(HornClause { body: vec![here(a, b)], constraint: t.tt(), head: Some(next) });
            let bad = t.and(&[t.lt(t.int(1000), a), t.lt(t.mul(a, t.int(5)), b)]);
            horn.rule(HornClause { body: vec![here(a, b)], constraint: bad, head: None });
            horn.solve()
        };
        let tight = SolverSettings { limit: 20_000, ..SolverSettings::default() };
        assert_eq!(build(tight, &Budget::unlimited()), HornAnswer::Unknown(UnknownReason::Limit));
        let begin = std::time::Instant::now();
        let short = Budget::unlimited().with_time(std::time::Duration::from_millis(300));
        let open = SolverSettings { limit: 0, ..SolverSettings::default() };
        assert_eq!(build(open, &short), HornAnswer::Unknown(UnknownReason::Stopped(base::Exhausted::Time)));
        assert!(begin.elapsed() < std::time::Duration::from_secs(5));
    }
}
