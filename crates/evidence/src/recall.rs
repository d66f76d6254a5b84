//! The annotation of a program, written so that it can be read for the program after an edit.
//!
//! In: a proof of rule `assume-guarantee`. Out: its conjuncts, with variables by name, locals by name and place among those of their thread,
//! and locations by the first words of what stands there. Read back, what no longer has a meaning is left out, loops that are
//! new get `true`, and every property that the rule can show is claimed: the checker finds out which of them hold.
//! Reading trusts nothing; any JSON gives a well-sorted annotation or none. Deliberately absent: other forms of proof.

use crate::certificate::{AssumeGuarantee, Assumes, CallersProof, Certificate, Premises, Proof};
use crate::file::{op_name, operator};
use logic::{Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use program::callers::callers;
use program::client::Effort;
use program::parts::split_conjuncts;
use program::passive::breaks_loops;
use program::transition::{gated_properties, loop_heads};
use program::{LocId, Program, PropertyId, PropertyKind, Start, Thread, ThreadId, VarId};
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// What can be recalled of a certificate, if anything.
pub fn write_annotations(program: &Program, c: &Certificate) -> Option<Json> {
    match &c.proof {
        Proof::AssumeGuarantee(p) => Some(annotation(program, &c.terms, p)),
        Proof::Callers(p) if p.object.is_none() && p.linearization_points.is_empty() => {
            let client = callers(program, None, &[], Effort::Any).ok()?;
            write_annotations(&client.program, &p.proof)
        }
        _ => None,
    }
}

/// A certificate for this program that claims what it can of the wanted properties; nothing of it is checked.
pub fn recall_certificate(program: &Program, json: &Json, wanted: &[PropertyId]) -> Option<Certificate> {
    if !program.threads.is_empty() {
        return certificate(program, json, wanted);
    }
    let client = callers(program, None, &[], Effort::Any).ok()?;
    let inner = certificate(&client.program, json, wanted)?;
    Some(Certificate {
        method: inner.method.clone(),
        terms: program.terms.clone(),
        properties: inner.properties.clone(),
        proof: Proof::Callers(CallersProof { object: None, linearization_points: Vec::new(), proof: Box::new(inner) }),
    })
}

fn certificate(program: &Program, json: &Json, wanted: &[PropertyId]) -> Option<Certificate> {
    let gated = gated_properties(program);
    let claimed = |q: &PropertyId| match program.properties.get(*q).map(|x| &x.kind) {
        Some(PropertyKind::Invariant(_)) => true,
        Some(PropertyKind::Rely(at)) => program.relies.get(*at as usize).is_some_and(|r| r.formula.is_some()),
        _ => gated.contains(q),
    };
    let properties: Vec<PropertyId> = wanted.iter().copied().filter(claimed).collect();
    let terms = program.terms.clone();
    let proof = RecallReader::new(program, &terms, json).annotation(&properties)?;
    let proof = Proof::AssumeGuarantee(proof);
    Some(Certificate { method: "rely".into(), terms, properties, proof })
}

/// A local is known by its name without the number that tells it from others, and by its place among those of that name.
fn local_names(program: &Program, thread: &Thread) -> Vec<(VarId, String)> {
    let mut count: FxHashMap<String, usize> = FxHashMap::default();
    let mut out = Vec::new();
    for v in &thread.locals {
        let name = &program.vars[*v].name;
        let plain = match name.rsplit_once('.') {
            Some((plain, number)) if number.bytes().all(|b| b.is_ascii_digit()) => plain,
            _ => name.as_str(),
        };
        let n = count.entry(plain.to_string()).or_insert(0);
        out.push((*v, format!("{plain}#{n}")));
        *n += 1;
    }
    out
}

/// A location is known by its first words and by its place among those with the same.
fn location_names(thread: &Thread) -> Vec<(LocId, String)> {
    let mut count: FxHashMap<&str, usize> = FxHashMap::default();
    let mut out = Vec::new();
    for (at, location) in thread.code.locations.iter_enumerated() {
        let words = location.name.split('{').next().unwrap_or_default().trim();
        let n = count.entry(words).or_insert(0);
        out.push((at, format!("{words}#{n}")));
        *n += 1;
    }
    out
}

fn annotation(program: &Program, terms: &Terms, p: &AssumeGuarantee) -> Json {
    let mut w = Writing { terms, names: FxHashMap::default(), nodes: Vec::new(), at: FxHashMap::default() };
    for v in program.shared() {
        let var = &program.vars[v];
        w.names.insert(var.symbol, json!(["var", var.name]));
        w.names.insert(var.primed, json!(["after", var.name]));
    }
    w.names.insert(program.tid, json!(["tid"]));
    let invariant = w.parts(p.invariant);
    let invariant = json!({ "nodes": w.section(), "holds": invariant });
    let mut threads = Vec::new();
    for a in &p.threads {
        let thread = &program.threads[a.thread];
        for (v, name) in local_names(program, thread) {
            w.names.insert(program.vars[v].symbol, json!(["local", name]));
        }
        let names: FxHashMap<LocId, String> = location_names(thread).into_iter().collect();
        let cuts: BTreeMap<&str, Json> = a.cuts.iter().map(|(l, f)| (names[l].as_str(), w.parts(*f))).collect();
        let rely = w.parts(a.rely);
        threads.push(json!({ "name": thread.name, "nodes": w.section(), "rely": rely, "cuts": cuts }));
    }
    json!({ "invariant": invariant, "threads": threads, "near": p.premises == Premises::Relevant })
}

struct Writing<'a> {
    terms: &'a Terms,
    names: FxHashMap<Symbol, Json>,
    nodes: Vec<Json>,
    at: FxHashMap<Term, usize>,
}

impl Writing<'_> {
    /// The nodes of one section: what is about locals is of one thread alone.
    fn section(&mut self) -> Vec<Json> {
        self.at.clear();
        std::mem::take(&mut self.nodes)
    }

    fn parts(&mut self, formula: Term) -> Json {
        split_conjuncts(self.terms, formula).into_iter().map(|f| Json::from(self.term(f))).collect()
    }

    fn term(&mut self, term: Term) -> usize {
        if let Some(at) = self.at.get(&term) {
            return *at;
        }
        let t = self.terms;
        let sort = |s: Sort| t.sort_name(s);
        let node = match t.node(term) {
            Node::Bool(b) => json!(["bool", b]),
            Node::Num(n, s) => json!(["num", n.to_string(), sort(s)]),
            Node::Variant(_, v) => json!(["variant", v, sort(t.sort_of(term))]),
            Node::Ref(_, n) => json!(["ref", n, sort(t.sort_of(term))]),
            Node::Sym(s) => {
                self.names.get(&s).cloned().unwrap_or_else(|| json!(["bound", s.0, sort(t.symbol_sort(s))]))
            }
            Node::App(op, args) => {
                let args: Vec<usize> = args.iter().map(|a| self.term(*a)).collect();
                let of = match op {
                    Op::Cast(s) | Op::ConstMap(s) | Op::EmptySet(s) | Op::EmptySeq(s) => sort(s),
                    _ => String::new(),
                };
                json!(["app", op_name(op), of, args])
            }
            Node::Quant(q, bound, body) => {
                let bound: Vec<Json> = bound.iter().map(|s| json!([s.0, sort(t.symbol_sort(*s))])).collect();
                json!(["quant", q == Quantifier::Forall, bound, self.term(body)])
            }
        };
        self.nodes.push(node);
        self.at.insert(term, self.nodes.len() - 1);
        self.nodes.len() - 1
    }
}

struct RecallReader<'a> {
    program: &'a Program,
    terms: &'a Terms,
    json: &'a Json,
    shared: FxHashMap<&'a str, VarId>,
    sorts: FxHashMap<String, Sort>,
    bound: FxHashMap<u64, Symbol>,
}

impl<'a> RecallReader<'a> {
    fn new(program: &'a Program, terms: &'a Terms, json: &'a Json) -> Self {
        let shared = program.shared().map(|v| (program.vars[v].name.as_str(), v)).collect();
        let sorts = (0..terms.sort_count() as u32).map(|n| (terms.sort_name(Sort(n)), Sort(n))).collect();
        Self { program, terms, json, shared, sorts, bound: FxHashMap::default() }
    }

    fn annotation(&mut self, claimed: &[PropertyId]) -> Option<AssumeGuarantee> {
        let (p, t) = (self.program, self.terms);
        let section = self.json.get("invariant")?;
        let nodes = self.nodes(section, None);
        let mut invariant = self.parts(&nodes, section.get("holds")?);
        // A claimed invariant is part of what is shown, also a new one.
        for q in claimed {
            if let PropertyKind::Invariant(f) = p.properties[*q].kind {
                invariant
                    .extend(split_conjuncts(t, f).into_iter().filter(|f| !invariant.contains(f)).collect::<Vec<_>>());
            }
        }
        let of: FxHashMap<&str, &Json> =
            self.json.get("threads")?.as_array()?.iter().filter_map(|x| Some((x.get("name")?.as_str()?, x))).collect();
        let mut threads = Vec::new();
        for (id, thread) in p.threads.iter_enumerated() {
            let found = of.get(thread.name.as_str());
            let nodes = found.map(|x| self.nodes(x, Some(id))).unwrap_or_default();
            let rely = found.and_then(|x| x.get("rely")).map(|r| self.parts(&nodes, r)).unwrap_or_default();
            let mut cuts: BTreeMap<LocId, Term> = BTreeMap::new();
            if let Some(old) = found.and_then(|x| x.get("cuts")).and_then(Json::as_object) {
                for (at, name) in location_names(thread) {
                    if let Some(parts) = old.get(&name) {
                        cuts.insert(at, t.and(&self.parts(&nodes, parts)));
                    }
                }
            }
            if !breaks_loops(&thread.code, &cuts.keys().copied().collect::<Vec<_>>()) {
                loop_heads(&thread.code).into_iter().for_each(|l| {
                    cuts.entry(l).or_insert_with(|| t.tt());
                });
            }
            if thread.start == Start::Spawned {
                cuts.entry(thread.code.entry).or_insert_with(|| t.tt());
            }
            threads.push(Assumes { thread: id, rely: t.and(&rely), cuts: cuts.into_iter().collect() });
        }
        let near = self.json.get("near").and_then(Json::as_bool) == Some(true);
        let reach = if near { Premises::Relevant } else { Premises::All };
        Some(AssumeGuarantee { invariant: t.and(&invariant), threads, premises: reach })
    }

    /// The listed formulas that have a meaning here.
    fn parts(&self, nodes: &[Option<Term>], list: &Json) -> Vec<Term> {
        let at = |n: &Json| nodes.get(usize::try_from(n.as_u64()?).ok()?).copied().flatten();
        let formula = |f: &Term| self.terms.sort_of(*f) == Sort::BOOL;
        list.as_array().into_iter().flatten().filter_map(at).filter(formula).collect()
    }

    /// Every node of a section as a term about the shared store and one thread.
    fn nodes(&mut self, section: &Json, thread: Option<ThreadId>) -> Vec<Option<Term>> {
        let locals: FxHashMap<String, VarId> = thread
            .map(|id| local_names(self.program, &self.program.threads[id]).into_iter().map(|(v, n)| (n, v)).collect())
            .unwrap_or_default();
        let mut out: Vec<Option<Term>> = Vec::new();
        for node in section.get("nodes").and_then(Json::as_array).into_iter().flatten() {
            let term = self.node(node, &out, &locals);
            out.push(term);
        }
        out
    }

    fn sort(&self, json: &Json) -> Option<Sort> {
        self.sorts.get(json.as_str()?).copied()
    }

    fn bound(&mut self, json: &Json, sort: &Json) -> Option<Symbol> {
        let (number, sort) = (json.as_u64()?, self.sort(sort)?);
        let terms = self.terms;
        let symbol = *self.bound.entry(number).or_insert_with(|| terms.symbol("k", sort));
        (terms.symbol_sort(symbol) == sort).then_some(symbol)
    }

    fn node(&mut self, node: &Json, done: &[Option<Term>], locals: &FxHashMap<String, VarId>) -> Option<Term> {
        let (p, t) = (self.program, self.terms);
        let parts = node.as_array()?;
        let at = |n: &Json| done.get(usize::try_from(n.as_u64()?).ok()?).copied().flatten();
        match parts.first()?.as_str()? {
            "bool" => Some(t.bool(parts.get(1)?.as_bool()?)),
            "num" => {
                let (n, sort) = (parts.get(1)?.as_str()?.parse::<i128>().ok()?, self.sort(parts.get(2)?)?);
                let fits = sort.as_machine().map_or(sort == Sort::INT, |m| (m.min()..=m.max()).contains(&n));
                fits.then(|| t.num(n, sort))
            }
            "variant" => {
                let (v, sort) = (u32::try_from(parts.get(1)?.as_u64()?).ok()?, self.sort(parts.get(2)?)?);
                let SortKind::Enum(e) = t.kind(sort) else { return None };
                ((v as usize) < t.enum_size(e)).then(|| t.variant(e, v))
            }
            "ref" => {
                let (n, sort) = (u32::try_from(parts.get(1)?.as_u64()?).ok()?, self.sort(parts.get(2)?)?);
                let SortKind::Ref(c) = t.kind(sort) else { return None };
                Some(t.reference(c, n))
            }
            "tid" => Some(t.sym(p.tid)),
            "var" => Some(t.sym(p.vars[*self.shared.get(parts.get(1)?.as_str()?)?].symbol)),
            "after" => Some(t.sym(p.vars[*self.shared.get(parts.get(1)?.as_str()?)?].primed)),
            "local" => Some(t.sym(p.vars[*locals.get(parts.get(1)?.as_str()?)?].symbol)),
            "bound" => Some(t.sym(self.bound(parts.get(1)?, parts.get(2)?)?)),
            "app" => {
                let sort = self.sort(parts.get(2)?);
                let op = operator(parts.get(1)?.as_str()?, sort)?;
                let args: Vec<Term> = parts.get(3)?.as_array()?.iter().map(at).collect::<Option<_>>()?;
                t.try_mk(op, &args).ok()
            }
            "quant" => {
                let q = if parts.get(1)?.as_bool()? { Quantifier::Forall } else { Quantifier::Exists };
                let mut bound = Vec::new();
                for b in parts.get(2)?.as_array()? {
                    bound.push(self.bound(b.get(0)?, b.get(1)?)?);
                }
                let body = at(parts.get(3)?)?;
                (t.sort_of(body) == Sort::BOOL && !bound.is_empty()).then(|| t.quant(q, &bound, body))
            }
            _ => None,
        }
    }
}
