// The grammar of `.tp` files, as docs/language.md gives it. `editors/tree-sitter-threadproof/generate` makes src/parser.c of it.
/// <reference types="tree-sitter-cli/dsl" />

const some = (rule) => seq(rule, repeat(seq(',', rule)));
// A comma may stand at the end of a list in brackets.
const list = (rule) => optional(seq(some(rule), optional(',')));

const STRENGTH = { quantifier: 0, implies: 1, iff: 2, or: 3, and: 4, compare: 5, add: 6, multiply: 7, unary: 8, postfix: 9 };

module.exports = grammar({
  name: 'threadproof',
  word: ($) => $.identifier,
  extras: ($) => [/[ \t\r\n\f]/, $.line_comment, $.block_comment],
  // `o.f` is a field or, before `(`, an operation of an object.
  conflicts: ($) => [[$.call, $.reference]],
  supertypes: ($) => [$.item, $.statement, $.expression, $.type],

  rules: {
    source_file: ($) => repeat($.item),

    item: ($) => choice($.constant, $.enumeration, $.class, $.variable, $.formula_item, $.thread, $.procedure, $.machine, $.object),

    constant: ($) => seq('const', field('name', $._name), ':', $.type, optional($._initial), ';'),
    enumeration: ($) => seq('enum', field('name', $._name), '{', list(alias($._name, $.enum_value)), '}'),
    class: ($) => seq('class', field('name', $._name), '{', repeat($.field), '}'),
    field: ($) => seq(field('name', $._name), ':', $.type, repeat($.access), ';'),
    variable: ($) => seq('var', field('name', $._name), ':', $.type, optional($._initial), repeat($.access), ';'),
    _initial: ($) => seq(choice('=', ':='), field('value', $.expression)),
    access: ($) =>
      choice(
        seq('guarded_by', $.expression),
        seq(choice('accessible_if', 'readable_if', 'writable_if'), repeat($.access_binder), $.expression),
        'thread_local',
      ),
    access_binder: ($) => prec(1, seq('[', $._name, ']')),
    formula_item: ($) => seq(choice('init', 'invariant', 'rely'), $.expression, ';'),

    thread: ($) =>
      seq(
        'thread',
        field('name', $._name),
        optional($.copies),
        optional($.parameters),
        optional(seq('follows', field('machine', $._name))),
        repeat($._clause),
        field('body', $.block),
      ),
    copies: ($) => seq('[', choice('*', $.expression), ']'),
    procedure: ($) => seq(optional('inline'), 'proc', $._procedure_behind),
    _procedure_behind: ($) =>
      seq(field('name', $._name), $.parameters, optional(seq('returns', $.parameters)), repeat($._clause), field('body', $.block)),
    parameters: ($) => seq('(', list($.parameter), ')'),
    parameter: ($) => seq(field('name', $._name), ':', $.type),
    _clause: ($) => choice($.clause, $.performs, $.modifies),
    clause: ($) => seq(choice('requires', 'ensures', 'rely', 'invariant'), $.expression, ';'),

    modifies: ($) => seq('modifies', some($._place), ';'),

    // A `;` goes on where an action follows it, and ends the clause where none does.
    performs: ($) => seq('performs', $._performs_to_the_end),
    _performs_to_the_end: ($) =>
      choice(seq($._performs_part, ';'), seq($._performs_part, ';', $._performs_to_the_end), seq($._performs_part, '[]', $._performs_to_the_end)),
    _performs_part: ($) => choice($.action, $.performs_group),
    performs_group: ($) => seq('(', $._performs_inside, ')', repeat('*')),
    _performs_inside: ($) => seq($._performs_part, repeat(seq(choice(';', '[]'), $._performs_part))),

    action: ($) => seq(optional(seq(field('label', $._type_name), ':')), $._action_body),
    _action_body: ($) => seq($.frame, $.expression, optional(seq('asserting', $.expression))),
    frame: ($) => seq('<', choice(list($._place), seq('new', $._name, optional(seq(',', list($._place))))), '>'),

    machine: ($) => seq(optional('strict'), 'machine', field('name', $._name), '{', repeat(choice($.variable, $.machine_rely, $.machine_state, $.edge)), '}'),
    machine_rely: ($) => seq('rely', $.expression, ';'),
    machine_state: ($) => seq(choice('start', 'state'), field('name', $._name), optional(seq('asserts', $.expression)), ';'),
    edge: ($) => seq(field('from', $._name), '->', field('to', $._name), optional(seq(':', $.action)), ';'),

    object: ($) =>
      seq('object', field('name', $._name), '{', repeat(choice($.specification, $.operation, $.variable, $.formula_item, $.procedure)), '}'),
    specification: ($) => seq('spec', '{', repeat(choice($.variable, $.formula_item, $.specified_operation)), '}'),
    specified_operation: ($) => $._procedure_behind,
    operation: ($) => seq('op', $._procedure_behind),

    type: ($) => choice($.primitive_type, $.set_type, $.map_type, alias($._type_name, $.named_type)),
    primitive_type: () => choice('bool', 'int', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'lock'),
    set_type: ($) => seq(choice('set', 'seq'), '<', $.type, '>'),
    map_type: ($) => seq('[', $.type, ']', $.type),

    block: ($) => seq('{', repeat($.statement), '}'),
    statement: ($) =>
      choice(
        $.local,
        $.assignment,
        $.call_statement,
        $.havoc,
        $.formula_statement,
        $.place_statement,
        $.join,
        $.atomic,
        $.step,
        $.if_statement,
        $.while_statement,
        $.choose,
        $.block,
        $.spawn_statement,
        $.witness,
        $.linearize,
        $.return,
        $.jump,
      ),
    local: ($) => seq('var', field('name', $._name), ':', $.type, optional(seq(choice(':=', '='), $._value)), ';'),
    assignment: ($) => seq(some($._place), ':=', $._value, ';'),
    _value: ($) => choice(some($.expression), $.new, $.cas, $.spawn),
    new: ($) => seq('new', field('class', $._name)),
    cas: ($) => seq('cas', '(', $._place, ',', $.expression, ',', $.expression, ')'),
    spawn: ($) => seq('spawn', field('thread', $._name), $.arguments),
    spawn_statement: ($) => seq($.spawn, ';'),
    call_statement: ($) => seq($.call, ';'),
    havoc: ($) => seq('havoc', some($._place), ';'),
    formula_statement: ($) => seq(choice('assume', 'assert'), $.expression, ';'),
    place_statement: ($) => seq(choice('acquire', 'release', 'free'), $._place, ';'),
    join: ($) => seq('join', choice($.reference, $.number, 'tid', $.field_expression, $.index_expression, $.if_expression, $.conversion), ';'),
    atomic: ($) => seq('atomic', $.block),
    step: ($) => seq('step', $._action_body, ';'),
    if_statement: ($) =>
      seq('if', $._condition, $.block, repeat(seq('else', 'if', $._condition, $.block)), optional(seq('else', $.block))),
    while_statement: ($) => seq('while', $._condition, repeat($.loop_invariant), $.block),
    loop_invariant: ($) => seq('invariant', $.expression, ';'),
    _condition: ($) => choice('*', $.expression),
    choose: ($) => seq('choose', $.block, repeat1(seq('or', $.block))),
    witness: ($) => seq('witness', field('label', $._name), ';'),
    linearize: ($) => seq('linearize', optional(seq('if', $.expression)), ';'),
    return: ($) => seq('return', optional(some($.expression)), ';'),
    jump: () => seq(choice('skip', 'break', 'continue'), ';'),

    // A place begins with no brace, so that a statement that does is a block.
    _place: ($) =>
      choice($.reference, $.call, $.parenthesized, alias($._place_field, $.field_expression), alias($._place_index, $.index_expression)),
    _place_field: ($) => seq($._place, '.', field('field', $._name), optional("'")),
    _place_index: ($) => seq($._place, '[', $._index, ']'),

    expression: ($) =>
      choice(
        $.quantifier,
        $.if_expression,
        $.binary,
        $.unary,
        $.field_expression,
        $.index_expression,
        $.reference,
        $.call,
        $.conversion,
        $.number,
        $.set_literal,
        $.sequence_literal,
        $.parenthesized,
        $.constant_value,
        $.unknown,
      ),
    quantifier: ($) => prec.right(STRENGTH.quantifier, seq(choice('forall', 'exists'), some($.parameter), '::', $.expression)),
    if_expression: ($) => prec.right(STRENGTH.quantifier, seq('if', $.expression, 'then', $.expression, 'else', $.expression)),
    binary: ($) =>
      choice(
        prec.right(STRENGTH.implies, seq($.expression, '==>', $.expression)),
        ...[
          [STRENGTH.iff, ['<==>']],
          [STRENGTH.or, ['||']],
          [STRENGTH.and, ['&&']],
          [STRENGTH.compare, ['==', '!=', '<', '<=', '>', '>=', 'in']],
          [STRENGTH.add, ['+', '-']],
          [STRENGTH.multiply, ['*', '/', '%']],
        ].map(([strength, operators]) => prec.left(strength, seq($.expression, operators.length > 1 ? choice(...operators) : operators[0], $.expression))),
      ),
    unary: ($) => prec(STRENGTH.unary, seq(choice('!', '-'), $.expression)),
    field_expression: ($) => prec(STRENGTH.postfix, seq($.expression, '.', field('field', $._name), optional("'"))),
    index_expression: ($) => prec(STRENGTH.postfix, seq($.expression, '[', $._index, ']')),
    _index: ($) =>
      choice(
        $.expression,
        seq($.expression, ':=', $.expression),
        seq(optional($.expression), '..', optional($.expression)),
      ),
    reference: ($) => seq($._name, optional("'")),
    call: ($) => seq(optional(seq(field('object', $._name), '.')), field('function', $._name), $.arguments),
    arguments: ($) => seq('(', list($.expression), ')'),
    conversion: ($) =>
      seq(alias(choice('int', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64'), $.primitive_type), '(', $.expression, ')'),
    set_literal: ($) => seq('{', list($.expression), '}'),
    sequence_literal: ($) => choice('[]', seq('[', list($.expression), ']')),
    parenthesized: ($) => seq('(', $.expression, ')'),
    constant_value: () => choice('true', 'false', 'null', 'tid'),
    unknown: () => '?',

    // Words with a meaning where the grammar asks for them, and names elsewhere.
    _name: ($) => choice($.identifier, alias(choice($._soft_word, 'lock', 'set', 'seq', 'modifies'), $.identifier)),
    _type_name: ($) => choice($.identifier, alias($._soft_word, $.identifier)),
    _soft_word: () =>
      prec(
        1,
        choice(
          'init', 'follows', 'machine', 'strict', 'start', 'state', 'asserts', 'asserting', 'object', 'spec', 'op', 'step', 'free',
          'join', 'witness',
        ),
      ),

    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,
    number: () => /[0-9][0-9A-Za-z_]*/,
    line_comment: () => token(seq('//', /[^\n]*/)),
    block_comment: () => token(seq('/*', /[^*]*\*+([^/*][^*]*\*+)*/, '/')),
  },
});
