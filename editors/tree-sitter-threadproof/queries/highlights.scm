; Colours of `.tp` files. Names of captures are those that editors share.
[
  "const" "enum" "class" "var" "thread" "proc" "inline" "returns" "machine" "strict" "object" "spec" "op" "follows" "start" "state"
] @keyword
["init" "invariant" "rely" "requires" "ensures" "performs" "asserts" "asserting" "guarded_by" "accessible_if" "readable_if" "writable_if" "thread_local" "modifies"] @keyword.directive
["if" "then" "else" "choose" "or"] @keyword.conditional
["while"] @keyword.repeat
["return"] @keyword.return
(jump ["skip" "break" "continue"] @keyword.control)
["atomic" "step" "havoc" "assume" "assert" "acquire" "release" "free" "join" "witness" "linearize" "spawn" "new" "cas"] @keyword.operator
["forall" "exists" "in"] @keyword.operator

(thread name: (identifier) @type.definition)
(machine name: (identifier) @type.definition)
(object name: (identifier) @type.definition)
(class name: (identifier) @type.definition)
(enumeration name: (identifier) @type.definition)
(procedure name: (identifier) @function)
(operation name: (identifier) @function)
(specified_operation name: (identifier) @function)
(call function: (identifier) @function.call)
(spawn thread: (identifier) @type)
(new class: (identifier) @type)
(parameter name: (identifier) @variable.parameter)
(field name: (identifier) @variable.member)
(field_expression field: (identifier) @variable.member)
(constant name: (identifier) @constant)
(enum_value) @constant
(action label: (identifier) @label)
(witness label: (identifier) @label)
(machine_state name: (identifier) @label)
(edge from: (identifier) @label to: (identifier) @label)
(primitive_type) @type.builtin
(named_type) @type
(reference (identifier) @variable)
(constant_value) @constant.builtin
(unknown) @constant.builtin
(number) @number
[(line_comment) (block_comment)] @comment
["==>" "<==>" "||" "&&" "==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "/" "%" "!" ":=" "=" "->" "::" ".."] @operator
["(" ")" "[" "]" "{" "}" "[]"] @punctuation.bracket
["," ";" ":" "." "'"] @punctuation.delimiter
