//! Expressions and formulas of random small programs.
//!
//! In: a type and what may be used at a place (`Scope`). Out: text of that type; values that are kept stay small.
//! Deliberately absent: quantifiers without bounds.

use super::{Scope, Small, Ty};

impl Small {
    /// A value to be kept: numbers stay small.
    pub(super) fn value(&mut self, ty: Ty, scope: &Scope) -> String {
        let e = self.expr(ty, scope, 2);
        match ty {
            Ty::Int => format!("{e} % 3"),
            _ => e,
        }
    }

    pub(super) fn formula(&mut self, scope: &Scope) -> String {
        let plain = Scope { vars: Vec::new(), ..scope.clone() };
        let left = self.total(&plain);
        match self.random.below(4) {
            0 => format!("{left} || {}", self.total(&plain)),
            1 => format!("{left} && {}", self.total(&plain)),
            2 => format!("{} ==> {left}", self.total(&plain)),
            _ => left,
        }
    }

    /// A formula that every store gives a value.
    pub(super) fn total(&mut self, scope: &Scope) -> String {
        match self.random.below(8) {
            0 => match self.any_var(scope, Ty::Node) {
                Some(o) => format!("({o} == null || {o}.on == {o}.on)"),
                None => "m >= 0".into(),
            },
            1 if self.heap => "(forall o: Node :: o != null ==> o.own <= 3)".into(),
            2 => match self.any_var(scope, Ty::Bool) {
                Some(b) => b,
                None => "true".into(),
            },
            3 => match self.any_var(scope, Ty::Set) {
                Some(s) => format!("!(1 in {s})"),
                None => "m <= 2".into(),
            },
            4 => match self.any_var(scope, Ty::Table) {
                Some(t) => format!("(forall k: int :: 0 <= k && k < N ==> {t}[k] < 3)"),
                None => "m != 2".into(),
            },
            _ => format!("({})", self.safe(scope)),
        }
    }

    pub(super) fn expr(&mut self, ty: Ty, scope: &Scope, depth: usize) -> String {
        let leaf = depth == 0 || self.random.chance(25);
        if ty == Ty::Table
            && (self.random.chance(50) || self.any_var(scope, ty).is_none())
            && let Some(t) = self.any_var(scope, Ty::Grid)
        {
            return format!("{t}[{}]", self.random.below(2));
        }
        if leaf {
            return match self.any_var(scope, ty) {
                Some(x) if matches!(ty, Ty::Table | Ty::Grid | Ty::Bits) || self.random.chance(70) => x,
                _ => self.constant(ty),
            };
        }
        let d = depth - 1;
        if self.random.chance(7) && !matches!(ty, Ty::Table | Ty::Grid | Ty::Bits) {
            let c = self.expr(Ty::Bool, scope, d);
            let (a, b) = (self.expr(ty, scope, d), self.expr(ty, scope, d));
            return format!("(if {c} then {a} else {b})");
        }
        match ty {
            Ty::Int => self.number(scope, d),
            Ty::Bool => self.condition(scope, d),
            Ty::Byte => match self.any_var(scope, ty) {
                Some(x) => {
                    let op = self.pick(&["+", "-", "*"]);
                    let n = self.pick(&["1", "2", "7", "255"]);
                    format!("({x} {op} {n})")
                }
                None => self.constant(ty),
            },
            Ty::Node => match self.any_var(scope, ty) {
                Some(o) if self.random.chance(40) => format!("{o}.next"),
                Some(o) => o,
                None => "null".into(),
            },
            Ty::Table => match self.any_var(scope, ty) {
                Some(t) => {
                    let (k, v) = (self.random.below(2), self.random.below(3));
                    format!("{t}[{k} := {v}]")
                }
                None => self.constant(ty),
            },
            Ty::Grid => match self.any_var(scope, ty) {
                Some(t) => {
                    let (j, k) = (self.random.below(2), self.random.below(2));
                    format!("{t}[{j} := {t}[{k}]]")
                }
                None => self.constant(ty),
            },
            Ty::Set => {
                let s = self.any_var(scope, ty).unwrap_or_else(|| "{}".into());
                let op = self.pick(&["+", "-"]);
                format!("({s} {op} {{{} % 3}})", self.expr(Ty::Int, scope, d))
            }
            Ty::Seq => match (self.any_var(scope, ty), self.random.below(3)) {
                (Some(q), 0) => format!("{q}[0..1]"),
                (Some(q), 1) => format!("{q}[{}..len({q})]", self.random.below(2)),
                _ => format!("[{}, {} % 3]", self.random.below(3), self.expr(Ty::Int, scope, 0)),
            },
            Ty::Phase | Ty::Bits => self.constant(ty),
        }
    }

    pub(super) fn number(&mut self, scope: &Scope, d: usize) -> String {
        match self.random.below(8) {
            0..=1 => {
                let op = self.pick(&["+", "-", "*"]);
                format!("({} {op} {})", self.expr(Ty::Int, scope, d), self.expr(Ty::Int, scope, d))
            }
            2 => {
                let op = self.pick(&["/", "%"]);
                format!("({} {op} {})", self.expr(Ty::Int, scope, d), self.expr(Ty::Int, scope, d))
            }
            3 => match self.any_var(scope, Ty::Seq) {
                Some(q) if self.random.chance(50) => format!("len({q})"),
                Some(q) => format!("{q}[{}]", self.random.below(2)),
                None => self.constant(Ty::Int),
            },
            4 => match (self.any_var(scope, Ty::Table), self.any_var(scope, Ty::Grid)) {
                (_, Some(t)) if self.random.chance(60) => {
                    format!("{t}[{}][{}]", self.expr(Ty::Int, scope, 0), self.expr(Ty::Int, scope, d))
                }
                (Some(t), _) => format!("{t}[{}]", self.expr(Ty::Int, scope, d)),
                _ => self.constant(Ty::Int),
            },
            5 => match self.any_var(scope, Ty::Node) {
                Some(o) => format!("{o}.v"),
                None => self.constant(Ty::Int),
            },
            6 => match self.any_var(scope, Ty::Byte) {
                Some(x) => format!("int({x})"),
                None => "m".into(),
            },
            _ => self.constant(Ty::Int),
        }
    }

    pub(super) fn condition(&mut self, scope: &Scope, d: usize) -> String {
        match self.random.below(11) {
            0 => format!("({} && {})", self.expr(Ty::Bool, scope, d), self.expr(Ty::Bool, scope, d)),
            1 => format!("({} || {})", self.expr(Ty::Bool, scope, d), self.expr(Ty::Bool, scope, d)),
            2 => format!("({} ==> {})", self.expr(Ty::Bool, scope, d), self.expr(Ty::Bool, scope, d)),
            3 => format!("!({})", self.expr(Ty::Bool, scope, d)),
            4..=5 => {
                let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(Ty::Int, scope, d), self.expr(Ty::Int, scope, d))
            }
            6 => match self.any_var(scope, Ty::Phase) {
                Some(x) => format!("({x} == {})", self.constant(Ty::Phase)),
                None => "(m == tid)".into(),
            },
            7 => match self.any_var(scope, Ty::Node) {
                Some(o) => {
                    let op = self.pick(&["==", "!="]);
                    let other = self.expr(Ty::Node, scope, 0);
                    format!("({o} {op} {other})")
                }
                None => "true".into(),
            },
            8 => match self.any_var(scope, Ty::Set) {
                Some(s) => format!("({} in {s})", self.expr(Ty::Int, scope, 0)),
                None => "(m == 0)".into(),
            },
            9 => match self.any_var(scope, Ty::Bits) {
                Some(t) => format!("{t}[{}]", self.expr(Ty::Int, scope, 0)),
                None => "true".into(),
            },
            _ => match self.any_var(scope, Ty::Byte) {
                Some(x) => {
                    let op = self.pick(&["<", ">", "=="]);
                    let n = self.pick(&["1", "200", "255", "300"]);
                    format!("({x} {op} {n})")
                }
                None => "false".into(),
            },
        }
    }

    pub(super) fn constant(&mut self, ty: Ty) -> String {
        match ty {
            Ty::Int => self.pick(&["0", "1", "2", "N", "-1"]),
            Ty::Bool => self.pick(&["true", "false"]),
            Ty::Phase => self.pick(&["Idle", "Busy"]),
            Ty::Node => "null",
            Ty::Byte => self.pick(&["0", "1", "7", "255"]),
            Ty::Set => "{}",
            Ty::Seq => "[]",
            // There is no constant map: only variables are used.
            Ty::Table | Ty::Grid | Ty::Bits => "",
        }
        .into()
    }
}
