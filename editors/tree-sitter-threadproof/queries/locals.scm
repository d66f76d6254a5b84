; Where names begin and end.
[(block) (procedure) (thread) (operation) (specified_operation) (quantifier)] @local.scope
(local name: (identifier) @local.definition)
(variable name: (identifier) @local.definition)
(constant name: (identifier) @local.definition)
(parameter name: (identifier) @local.definition)
(reference (identifier) @local.reference)
