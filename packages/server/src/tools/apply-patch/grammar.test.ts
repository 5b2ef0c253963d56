import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DESCRIPTION } from './description.ts'
import { GRAMMAR } from './grammar.ts'
import { parsePatch, type Section } from './parse.ts'

/** The grammar does not contain itself, so it is one regular expression: each name is replaced by its rule. */
function expressionOf(grammar: string): RegExp {
  const rules = new Map(
    [...grammar.matchAll(/^(\w+): (.+)$/gm)].map(([, name, rule]): [string, string] => [name!, rule!]),
  )
  const source = (rule: string): string =>
    rule
      .match(/"(?:\\.|[^"])*"|\/(?:\\.|[^/])+\/|\w+|[()|+*?]/g)!
      .map((token) => {
        if (token.startsWith('"'))
          return `(?:${(JSON.parse(token) as string).replaceAll(/[*+?.()|\\]/g, String.raw`\$&`)})`
        if (token.startsWith('/')) return `(?:${token.slice(1, -1)})`
        return /^\w/.test(token) ? `(?:${source(rules.get(token)!)})` : token === '(' ? '(?:' : token
      })
      .join('')
  return new RegExp(`^(?:${source('start')})$`)
}

const FORM = expressionOf(GRAMMAR)
const wrapped = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

const text = fc.string({ unit: fc.constantFrom('a', ' ', '*', '+', '-', '@', '"', '\\', 'ß', '\t') })
const path = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '-'), minLength: 1 })
const line = fc.tuple(fc.constantFrom(' ', '+', '-'), text).map(([op, rest]) => op + rest)
const lines = fc.array(line, { minLength: 1, maxLength: 4 })
const hunk = fc.record({ place: fc.option(text), lines, isAtEnd: fc.boolean() })
const section = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), path, lines: fc.array(text, { maxLength: 4 }) }),
  fc.record({ kind: fc.constant('delete' as const), path }),
  fc.record({
    kind: fc.constant('update' as const),
    path,
    moveTo: fc.option(path),
    hunks: fc.array(hunk, { minLength: 1, maxLength: 3 }),
  }),
)

function written(of: typeof section extends fc.Arbitrary<infer S> ? S : never): string[] {
  if (of.kind === 'delete') return [`*** Delete File: ${of.path}`]
  if (of.kind === 'add') return [`*** Add File: ${of.path}`, ...of.lines.map((added) => `+${added}`)]
  const hunks = of.hunks.flatMap((part, at) => {
    const place = part.place === null ? (at === 0 ? [] : ['@@']) : [`@@ ${part.place}`]
    return [...place, ...part.lines, ...(part.isAtEnd ? ['*** End of File'] : [])]
  })
  return [`*** Update File: ${of.path}`, ...(of.moveTo === null ? [] : [`*** Move to: ${of.moveTo}`]), ...hunks]
}

test('every patch has the form of the grammar, and what has the form is parsed', () => {
  fc.assert(
    fc.property(fc.array(section, { minLength: 1, maxLength: 3 }), (sections) => {
      const patch = wrapped(...sections.flatMap(written))
      expect(FORM.test(patch)).toBe(true)
      const kindsOf = (list: readonly { kind: Section['kind'] }[]) => list.map(({ kind }) => kind)
      let parsed: Section[] | null = null
      try {
        parsed = parsePatch(patch)
      } catch (error) {
        // Parts of empty context lines alone are no change.
        expect(String(error)).toMatch(/begins a part without lines/)
      }
      if (parsed !== null) expect(kindsOf(parsed)).toEqual(kindsOf(sections))
    }),
  )
})

test('the example of the description has the form of the grammar', () => {
  const example = /\*\*\* Begin Patch[^]*\*\*\* End Patch/.exec(DESCRIPTION)![0]
  expect(FORM.test(example)).toBe(true)
  expect(FORM.test(`${example}\n`)).toBe(true)
})

test.each([
  ['no section', wrapped()],
  ['an update without a change', wrapped('*** Update File: a')],
  ['an added line without its sign', wrapped('*** Add File: a', 'x')],
  ['a place without lines', wrapped('*** Update File: a', '@@ x')],
  ['a place in the middle of a line', wrapped('*** Update File: a', '@@x', ' y')],
  ['no end', '*** Begin Patch\n*** Add File: a\n+x'],
  ['a text around it', `\`\`\`\n${wrapped('*** Delete File: a')}\n\`\`\``],
  ['JSON around it', JSON.stringify({ patch: wrapped('*** Delete File: a') })],
])('a text with %s does not have the form of the grammar', (_name, patch) => {
  expect(FORM.test(patch)).toBe(false)
})
