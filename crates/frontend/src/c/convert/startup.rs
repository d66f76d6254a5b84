//! Functions that run by themselves: constructors before the body of `main`, destructors after it.
//!
//! In: the attributes `constructor` and `destructor` of functions, with their priorities. Out: `main` begins with `atexit` of the destructors, which therefore run last, and then calls the
//! constructors: first those with a priority, the least first, then the others, each in the order of the text; destructors run in the opposite order. (GCC manual, "Common
//! Function Attributes"; between files the order is the linker's, here that of the files.) Deliberately absent: functions of this kind with parameters, programs in which `main` is called.

use super::*;

/// The priority of a function without one: after all others.
const WITHOUT_PRIORITY: i128 = i128::MAX;

/// Functions that run by themselves, with their priorities.
#[derive(Default)]
pub(super) struct Automatic {
    before: Vec<(i128, FnId, Span)>,
    after: Vec<(i128, FnId, Span)>,
}

impl Converter<'_> {
    /// Those of the file that was just converted.
    pub(super) fn find_automatic(&mut self, unit: &c::TranslationUnit, found: &mut Automatic) {
        for item in &unit.0 {
            match &item.node {
                c::ExternalDeclaration::FunctionDefinition(f) => {
                    self.note_automatic(&f.node.specifiers, &f.node.declarator, found);
                }
                c::ExternalDeclaration::Declaration(d) => {
                    for declared in &d.node.declarators {
                        self.note_automatic(&d.node.specifiers, &declared.node.declarator, found);
                    }
                }
                c::ExternalDeclaration::StaticAssert(_) => {}
            }
        }
    }

    fn note_automatic(
        &mut self,
        specifiers: &[Node<c::DeclarationSpecifier>],
        declarator: &Node<c::Declarator>,
        found: &mut Automatic,
    ) {
        let of_type = specifiers.iter().filter_map(|s| match &s.node {
            c::DeclarationSpecifier::Extension(e) => Some(e.as_slice()),
            _ => None,
        });
        let extensions: Vec<_> = of_type.chain([declarator.node.extensions.as_slice()]).flatten().collect();
        for extension in extensions {
            let c::Extension::Attribute(attribute) = &extension.node else { continue };
            let before = match attribute.name.node.trim_matches('_') {
                "constructor" => true,
                "destructor" => false,
                _ => continue,
            };
            let name = decl::declared_name(&declarator.node).unwrap_or_default();
            let Some(Name::Function(function)) = self.lookup(name).cloned() else { continue };
            let priority = match attribute.arguments.first() {
                Some(argument) => self.value(argument).as_const().unwrap_or(WITHOUT_PRIORITY),
                None => WITHOUT_PRIORITY,
            };
            let list = if before { &mut found.before } else { &mut found.after };
            if !list.iter().any(|(_, f, _)| *f == function) {
                list.push((priority, function, self.functions[function].span));
            }
        }
    }

    /// Lets `main` begin with them.
    pub(super) fn run_automatic(&mut self, found: Automatic) {
        let Automatic { mut before, mut after } = found;
        before.sort_by_key(|(priority, ..)| *priority);
        after.sort_by_key(|(priority, ..)| *priority);
        for (_, function, span) in before.iter().chain(&after) {
            if !self.functions[*function].params.is_empty() {
                let text = "a function with parameters that runs by itself is not modelled";
                self.error(TYPE_ERROR, *span, text);
            }
        }
        let main = self.functions.iter_enumerated().find(|(_, f)| f.name == "main" && f.body.is_some());
        let Some(main) = main.map(|(id, _)| id) else { return };
        let int = self.types.int(Int::Int);
        let mut first = Vec::new();
        // What is registered first is called last.
        for (_, function, span) in after {
            let known = self.functions.iter_enumerated().find(|(_, f)| f.name == "atexit").map(|(id, _)| id);
            let register = known.unwrap_or_else(|| {
                let signature = Signature { result: int, params: Vec::new(), arity: Arity::Unknown };
                self.function("atexit", &signature, span)
            });
            let address = self.function_address(function, span);
            let call = CExprKind::Call(CCallee::Direct(register), vec![address]);
            first.push(Stmt { kind: CStmtKind::Expr(Expr { kind: call, ty: int, span }), span });
        }
        for (_, function, span) in before {
            if self.functions[function].body.is_some() {
                let ty = self.functions[function].result;
                let call = CExprKind::Call(CCallee::Direct(function), Vec::new());
                first.push(Stmt { kind: CStmtKind::Expr(Expr { kind: call, ty, span }), span });
            }
        }
        if let Some(body) = &mut self.functions[main].body {
            body.splice(0..0, first);
        }
    }
}
