import { expect, test } from 'vitest'
import { parseArguments, repairArguments, tidyArguments, type Arguments } from './arguments.ts'

test.each<[string, Arguments | null, boolean]>([
  ['{"a": 1}', { a: 1 }, true],
  ['', {}, false],
  ['[1]', {}, false],
  ['"text"', {}, false],
  ['{"a": "one\ntwo\tthree\0four"}', { a: 'one\ntwo\tthree\0four' }, false],
  ['{\n"a": "one\ntwo"\n}', { a: 'one\ntwo' }, false],
  ['{"a": "one\\ntwo\nthree \\" \\\\"}', { a: 'one\ntwo\nthree " \\' }, false],
  ['{"a": ', null, false],
  ['not json', null, false],
])('the argument text %j is parsed as %j', (text, args, isVerbatim) => {
  expect(parseArguments(text)).toEqual(args === null ? null : { args, isVerbatim })
})

test.each<[Arguments, Arguments]>([
  [{ a: null, b: 1 }, { b: 1 }],
  [
    { security_rort: 'LOW', a: 1 },
    { security_risk: 'LOW', a: 1 },
  ],
  [{ securtiy_risk: 'LOW' }, { security_risk: 'LOW' }],
  [{ security_riks: 'LOW' }, { security_risk: 'LOW' }],
  [{ security_risk: 'HIGH', security_riks: 'LOW' }, { security_risk: 'HIGH' }],
])('the arguments %j become %j', (args, tidy) => {
  expect(tidyArguments(args)).toEqual(tidy)
})

const schema = {
  type: 'object',
  properties: {
    list: { type: 'array', items: { type: 'object' } },
    map: { anyOf: [{ type: 'object' }, { type: 'null' }] },
    text: { type: 'string' },
    either: { type: ['string', 'array'] },
    flag: { type: 'boolean' },
    count: { type: 'integer' },
  },
}

test.each<[string, unknown, unknown]>([
  ['list', '[{"a": 1}]', [{ a: 1 }]],
  ['list', '[{"a": "x\ny"}]', [{ a: 'x\ny' }]],
  ['list', '[1, 2]</parameter', [1, 2]],
  ['map', '{"a": 1} and more', { a: 1 }],
  ['map', '{"a": [1]} trailing', { a: [1] }],
  ['list', '"text"', '"text"'],
  ['list', 'plain', 'plain'],
  ['text', '[1]', '[1]'],
  ['text', ['a', 'b'], 'ab'],
  ['text', ['a', 1], ['a', 1]],
  ['either', '[1]', '[1]'],
  ['either', ['a'], ['a']],
  ['flag', 'true', true],
  ['flag', 'False', false],
  ['flag', 'yes', 'yes'],
  ['count', '12', 12],
  ['count', '12a', '12a'],
  ['unknown', '[1]', '[1]'],
])('the argument %s given as %j becomes %j', (name, value, repaired) => {
  expect(repairArguments({ [name]: value }, schema)).toEqual({ [name]: repaired })
})
