//! Every method of this build, one line each: the order is the order of reports and of preference between equal answers.
//!
//! A new method is a folder with a type that implements `Method` (see `skeleton`) and a line in `all_methods`. No scheduler has to know
//! its name.

use crate::method::Method;
use std::sync::Arc;

/// All methods. Some use others inside: those that compose proofs are given the methods that prove the parts.
pub fn all_methods() -> Vec<Arc<dyn Method>> {
    let explore: Arc<dyn Method> = Arc::new(crate::explore::Explore);
    let rely: Arc<dyn Method> = Arc::new(crate::rely::RelyMethod);
    let reduce: Arc<dyn Method> = Arc::new(crate::reduce::Reduce);
    let count: Arc<dyn Method> = Arc::new(crate::count::Count);
    let horn: Arc<dyn Method> = Arc::new(crate::horn::HornClauses);
    let quantify: Arc<dyn Method> = Arc::new(crate::quantify::Quantify);
    let shape: Arc<dyn Method> = Arc::new(crate::shape::Shape);
    let composition = vec![count.clone(), explore.clone(), horn.clone()];
    let facts = vec![explore.clone(), rely.clone(), count.clone()];
    let conform = crate::conform::Conform { composition, calls: Some(reduce.clone()), facts };
    let callers = crate::callers::Callers { provers: vec![shape.clone(), rely.clone(), count.clone()] };
    let walk = Arc::new(crate::explore::Walk);
    vec![explore, rely, reduce, count, quantify, horn, Arc::new(conform), shape, Arc::new(callers), walk]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn check_methods_have_different_names_and_say_what_they_do() {
        let all = all_methods();
        let names: BTreeSet<&str> = all.iter().map(|m| m.about().name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().all(|m| !m.about().summary.is_empty() && !m.about().paper.is_empty()));
    }
}
