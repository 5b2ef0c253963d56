import fc from 'fast-check'
import { expect, test } from 'vitest'
import { freeformTools, textOfCall, withArguments } from './freeform.ts'

const TOOL = {
  name: 'apply_patch',
  description: '',
  parameters: {},
  freeform: { parameter: 'patch', grammar: 'start: "a"', description: '' },
}
const CUSTOMS = freeformTools([TOOL], { api: 'responses' }, { customTools: true })
const call = (args: string) => ({ id: 'c', name: 'apply_patch', arguments: args })
const read = (text: string) => withArguments(call(JSON.stringify(text)), CUSTOMS)

test('a text is the same after its way into the log and back, unless it is a JSON object itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      fc.pre(!text.trimStart().startsWith('{'))
      const stored = read(text)
      expect(JSON.parse(stored.arguments)).toEqual({ patch: text })
      expect(textOfCall(stored, 'patch')).toBe(text)
    }),
  )
})

test('a JSON object in place of the text is taken as the arguments', () => {
  const written = '{"patch": "*** Begin Patch"}'
  expect(read(written).arguments).toBe(written)
  expect(textOfCall(read(written), 'patch')).toBe('*** Begin Patch')
})

test('a call that was cut off and a call of another tool stay as they are', () => {
  expect(withArguments({ ...call(''), isCut: true }, CUSTOMS)).toEqual({ ...call(''), isCut: true })
  const other = { id: 'c', name: 'terminal', arguments: '"ls"' }
  expect(withArguments(other, CUSTOMS)).toBe(other)
})

test.each(['{"unparseable_arguments":true}', '{"patch": 7}', '[]', 'no JSON'])(
  'a stored call without a text, %s, is sent as it is stored',
  (args) => expect(textOfCall(call(args), 'patch')).toBe(args),
)

test('a tool is called with a text only over Responses, by models that know custom tools', () => {
  const names = (api: 'chat' | 'responses', customTools: boolean) => [
    ...freeformTools([TOOL, { ...TOOL, name: 'x', freeform: undefined as never }], { api }, { customTools }).keys(),
  ]
  expect([names('responses', true), names('responses', false), names('chat', true)]).toEqual([['apply_patch'], [], []])
})
