import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openTemplate, type Values } from './template.ts'

const filled = async (text: string, values: Values = {}) => (await openTemplate('own.j2', text)).fill(values)

test.each<[string, Values, string]>([
  ['You are {{ who }}.', { who: 'an owl' }, 'You are an owl.'],
  ['a{{ nobody }}{{ no.body }}b', {}, 'ab'],
  ['{% if cli_mode %}local{% else %}sandbox{% endif %}', { cli_mode: false }, 'sandbox'],
  ['{% for name in names %}- {{ name | upper }}\n{% endfor %}', { names: ['a', 'b'] }, '- A\n- B\n'],
  ['a\n  {% if true %}\n  b\n  {% endif %}\nc\n', {}, 'a\n  \n  b\n  \nc'],
  ['a\n{%- if true %}\nb\n{%- endif %}\n', {}, 'a\nb'],
  ['{{ names | join(", ") }} {{ rules.first }}', { names: [1, 2], rules: { first: 'x' } }, '1, 2 x'],
  ['{{ who | default("you") }} {# not said #}{{ html }}', { html: '<b>&' }, 'you <b>&'],
  ['{% for n in range(1, 4) %}{{ n }}{% endfor %}{{ range(1000000) | length }}', {}, '12310000'],
  ['{{ given }}', { given: { a: [1, 'b'] } }, '{"a": [1, "b"]}'],
  ['{{ given.constructor }}{{ "a".constructor }}', { given: {} }, ''],
])('the template %j with %j is filled', async (text, values, expected) => {
  expect(await filled(text, values)).toBe(expected)
})

test.each<[string, RegExp]>([
  ['a\n{% foo %}\nb', /'own\.j2' cannot be used: line 2: .*foo/],
  ['a\nb\n{{ "abc }}\n{{ x }}', /line 3: Unexpected end of input/],
  ['a\n{% set x = [\n1,\n2] %}\n\nb {% if x\nc', /line 6/],
  ['{% if x %}\nb', /line 1: a block has no end/],
  ['a\n\n{{ x y }}\nz', /line 3/],
  ['{% include "other.j2" %}', /line 1: .*include/],
])('the template %j is refused with the line of the error', async (text, reason) => {
  const refusal = await openTemplate('own.j2', text).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(ParleyError)
  expect(refusal).toMatchObject({ code: 'invalid_input', at: ['system_prompt_filename'] })
  expect((refusal as Error).message).toMatch(reason)
})

test.each<[string, RegExp]>([
  ['{{ x | nofilter }}', /'own\.j2' cannot be used: .*nofilter/],
  ['{% for a in xs %}{% for b in xs %}{% for c in xs %}{% endfor %}{% endfor %}{% endfor %}', /takes too long/],
  ['{% for a in xs %}{{ long }}{% endfor %}', /becomes longer than/],
])(
  'the template %j is refused when it is filled',
  async (text, reason) => {
    const values = { x: 1, xs: Array.from({ length: 1000 }, (_, at) => at), long: 'x'.repeat(10_000) }
    await expect(filled(text, values)).rejects.toThrow(reason)
  },
  30_000,
)

test('the line of an error is found in a long template too', async () => {
  const lines = Array.from({ length: 3000 }, (_, at) => (at === 2345 ? '{% foo %}' : 'a {{ x }}'))
  await expect(openTemplate('own.j2', lines.join('\n'))).rejects.toThrow(/line 2346: /)
})

test('a template holds the policy when it names the value security_policy', async () => {
  expect((await openTemplate('a', '{{ security_policy }}')).holdsPolicy).toBe(true)
  expect((await openTemplate('a', '{{ security_policy_filename }}')).holdsPolicy).toBe(false)
})
