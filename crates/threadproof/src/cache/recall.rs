//! What was found about the program of a path before, as a method: annotations that are claimed again, for the checker to look at.
//!
//! In: the text of a file of the cache. Out: claims. Nothing is known to be true of them: the program may have changed, and the file may be
//! anybody's. The checker rebuilds every obligation from the program, as for any other method. Deliberately absent:
//! any search; what does not hold any more is left to the methods that search.

use super::hex;
use evidence::{Claim, Claims, Reason};
use methods::{Method, MethodDescription, Refusal, Run, Task};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

const FORMAT: &str = "threadproof-annotations";
const FORMAT_VERSION: u64 = 1;

pub struct Recall(pub Json);

impl Method for Recall {
    fn about(&self) -> MethodDescription {
        MethodDescription { name: "recall", summary: "annotations found in an earlier run", paper: "Calvin" }
    }

    fn admits(&self, _: &Task) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&self, task: &Task, _: &Run) -> Claims {
        let mut claims = Claims::default();
        let mut left = task.properties.clone();
        for one in self.0.as_array().into_iter().flatten() {
            let Some(found) = evidence::recall::recall_certificate(&task.program, one, &left) else { continue };
            let found = Arc::new(found);
            left.retain(|p| !found.properties.contains(p));
            found.properties.iter().for_each(|p| claims.set(*p, Claim::Proved(found.clone())));
        }
        let nothing = Reason::Incomplete("nothing was found about it in an earlier run".into());
        left.into_iter().for_each(|p| claims.set(p, Claim::Undecided(nothing.clone())));
        claims
    }
}

/// The text of a file: the annotations, and their digest.
pub fn seal_annotations(annotations: &Json) -> String {
    let body = annotations.to_string();
    let sum = hex(&Sha256::digest(&body));
    format!("{}\n", json!({ "format": FORMAT, "version": FORMAT_VERSION, "sum": sum, "body": body }))
}

/// What is in such a text, or what is wrong with it.
pub fn unseal_annotations(bytes: &[u8]) -> Result<Json, &'static str> {
    const DAMAGED: &str = "this file of the cache is damaged";
    let json: Json = serde_json::from_slice(bytes).map_err(|_| DAMAGED)?;
    if json.get("format").and_then(Json::as_str) != Some(FORMAT) {
        return Err(DAMAGED);
    }
    if json.get("version").and_then(Json::as_u64) != Some(FORMAT_VERSION) {
        return Err("this file of the cache is of another version of the tool");
    }
    let body = json.get("body").and_then(Json::as_str).ok_or(DAMAGED)?;
    if json.get("sum").and_then(Json::as_str) != Some(&hex(&Sha256::digest(body))) {
        return Err(DAMAGED);
    }
    serde_json::from_str(body).map_err(|_| DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_annotations_come_back_whole_or_not_at_all() {
        let annotations = json!([{ "invariant": { "nodes": [], "holds": [] } }]);
        let text = seal_annotations(&annotations);
        assert_eq!(unseal_annotations(text.as_bytes()), Ok(annotations));
        let (at, _) = text.match_indices("holds").next().expect("the body is in the text");
        let mut wrong = text.clone().into_bytes();
        wrong[at] = b'H';
        assert!(unseal_annotations(&wrong).is_err_and(|why| why.contains("damaged")));
        assert!(unseal_annotations(&text.as_bytes()[..at]).is_err());
        let other = text.replace("\"version\":1", "\"version\":2");
        assert!(unseal_annotations(other.as_bytes()).is_err_and(|why| why.contains("another version")));
    }
}
