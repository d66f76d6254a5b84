//! A small validator of JSON Schema: just the keywords that our schema uses; any other is an error.

use crate::root;
use serde_json::Value;

/// Everything in which a document differs from the published schema.
pub(crate) fn violations(document: &Value) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/verdict.schema.json")).expect("the schema is there");
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    let mut wrong = Vec::new();
    validate(&schema, &schema, document, "document", &mut wrong);
    wrong
}

fn validate(whole: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => {}
            "$ref" => {
                let name = rule.as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("references are local");
                validate(whole, &whole["$defs"][name], value, at, wrong);
            }
            "const" if value != rule => wrong.push(format!("{at} is {value}, not {rule}")),
            "enum" if !rule.as_array().expect("enum is a list").contains(value) => {
                wrong.push(format!("{at} is {value}, none of {rule}"));
            }
            "const" | "enum" => {}
            "type" => {
                let names: Vec<&str> = match rule {
                    Value::String(one) => vec![one],
                    many => many.as_array().expect("types are a list").iter().filter_map(Value::as_str).collect(),
                };
                if !names.iter().any(|n| has_type(value, n)) {
                    wrong.push(format!("{at} is {value}, which is not of type {names:?}"));
                }
            }
            "anyOf" => {
                let fits = rule.as_array().expect("anyOf is a list").iter().any(|s| {
                    let mut inner = Vec::new();
                    validate(whole, s, value, at, &mut inner);
                    inner.is_empty()
                });
                if !fits {
                    wrong.push(format!("{at} fits none of the alternatives: {value}"));
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|n| n < rule.as_f64().expect("a minimum is a number")) {
                    wrong.push(format!("{at} is {value}, below {rule}"));
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(whole, rule, item, &format!("{at}[{i}]"), wrong);
                }
            }
            "required" => {
                for name in rule.as_array().expect("required is a list").iter().filter_map(Value::as_str) {
                    if value.as_object().is_some_and(|o| !o.contains_key(name)) {
                        wrong.push(format!("{at} lacks {name}"));
                    }
                }
            }
            "properties" => {
                for (name, inner) in rule.as_object().expect("properties are an object") {
                    if let Some(part) = value.get(name) {
                        validate(whole, inner, part, &format!("{at}.{name}"), wrong);
                    }
                }
            }
            "additionalProperties" => {
                for (name, part) in value.as_object().into_iter().flatten() {
                    if schema["properties"].get(name).is_some() {
                        continue;
                    }
                    if rule == &Value::Bool(false) {
                        wrong.push(format!("{at} has {name}, which the schema does not know"));
                    } else {
                        validate(whole, rule, part, &format!("{at}.{name}"), wrong);
                    }
                }
            }
            other => panic!("the schema uses the keyword {other}, which this validator does not know"),
        }
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses the type {other}, which this validator does not know"),
    }
}

#[test]
fn check_the_validator_notices_what_is_wrong() {
    let right: Value = serde_json::from_str(
        r#"{ "schema": "threadproof-verdict/2", "tool": { "name": "threadproof", "version": "1" },
             "memory_model": "sequential consistency", "verdict": "safe", "exit_code": 0, "files": [] }"#,
    )
    .expect("JSON");
    assert_eq!(violations(&right), Vec::<String>::new());
    for (key, value) in [
        ("verdict", Value::from("perhaps")),
        ("exit_code", Value::from(3)),
        ("files", Value::from(vec![1])),
        ("tool", Value::Null),
        ("more", Value::Null),
    ] {
        let mut changed = right.clone();
        changed[key] = value;
        assert_ne!(violations(&changed), Vec::<String>::new(), "{key}");
    }
    let mut less = right.clone();
    less.as_object_mut().expect("an object").remove("memory_model");
    assert_eq!(violations(&less), ["document lacks memory_model"]);
}
