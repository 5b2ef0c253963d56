/** Edits whose old text is not in the file as it was given: accepted with the effect of the exact edit, or refused. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replaceOnce, numbered } from './edits.ts'

/** The text after an edit; null when it was refused. */
function after(text: string, old: string, fresh: string): string | null {
  try {
    return replaceOnce(text, old, fresh).text
  } catch (error) {
    expect(error).toMatchObject({ name: 'Refusal' })
    return null
  }
}

const PLAIN = ['aa()', 'bb()', 'if a:', '    aa()', '        bb()', '\tt', '', "# it's"]
/** Lines that have other meanings of numbers and escapes. */
const HOSTILE = [
  'print("a\\n")',
  "s = 'it\\'s'",
  'x.split(/\\n/)',
  "# it's at \\n here",
  '# at \\n here',
  'print("\\n  bb")',
  "p('\\n  bb')",
  'x.match(/\\n  bb/)',
  '# at \\n  bb',
  '<b>a</b>',
  'ff(',
  ')',
  '\\d+ \\"q\\"',
  '\\alpha\\nu',
  'x\\nu',
  'C:\\new',
  '1\tone',
  '[^\\n]',
]
const someLine = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...PLAIN) },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE) },
)
const someLines = (minLength: number) => fc.array(someLine, { minLength, maxLength: 6 })
const EDITS = fc
  .record({ before: someLines(0), old: someLines(1), behind: someLines(0), fresh: someLines(0), isOpen: fc.boolean() })
  .filter(({ old, fresh }) => old.join('').trim() !== '' && old.join('\n') !== fresh.join('\n'))

/** What the editor shows of lines. */
const shown = (lines: readonly string[], first: number): string =>
  lines.map((line, at) => `${String(first + at).padStart(6)}\t${line}`).join('\n')

test('the numbers of these tests are those of a view', () => {
  expect(shown(['a', '', 'b'], 9)).toBe(numbered(`${'\n'.repeat(8)}a\n\nb`, 9, 11))
})

test('an edit with the numbers of a view has the effect of the edit without them, or none', () => {
  let accepted = 0
  fc.assert(
    fc.property(EDITS, fc.boolean(), fc.boolean(), ({ before, old, behind, fresh, isOpen }, isNumbered, ends) => {
      const text = [...before, ...old, ...behind].join('\n') + (isOpen ? '' : '\n')
      const end = ends && (behind.length > 0 || !isOpen) ? '\n' : ''
      const first = before.length + 1
      const written = isNumbered ? shown(fresh, first) : fresh.join('\n')
      const exact = after(text, old.join('\n') + end, fresh.join('\n') + end)
      const lenient = after(text, shown(old, first) + end, written + end)
      if (lenient !== null) {
        accepted += 1
        expect(lenient).toBe(exact)
      }
    }),
    { numRuns: 3000 },
  )
  expect(accepted).toBeGreaterThan(300)
})

/** What a model sends that writes line breaks as the two characters; its other escapes are once too many, too, or not. */
const once = (text: string) => text.replaceAll('\n', '\\n')
const twice = (text: string) => JSON.stringify(text).slice(1, -1)

test.each([
  ['alone', once],
  ['and all other escapes', twice],
])('an edit with written line breaks %s has the effect of the edit with real ones, or none', (_name, write) => {
  let accepted = 0
  fc.assert(
    fc.property(EDITS, ({ before, old, behind, fresh, isOpen }) => {
      fc.pre(old.length > 1)
      const text = [...before, ...old, ...behind].join('\n') + (isOpen ? '' : '\n')
      const exact = after(text, old.join('\n'), fresh.join('\n'))
      const written: [string, string] = [write(old.join('\n')), write(fresh.join('\n'))]
      // A text that is in the file as it is means itself.
      fc.pre(!text.includes(written[0]))
      const lenient = after(text, ...written)
      if (lenient !== null) {
        accepted += 1
        expect(lenient).toBe(exact)
      }
    }),
    { numRuns: 5000 },
  )
  expect(accepted).toBeGreaterThan(200)
})

const nested = fc.array(
  fc
    .tuple(fc.constantFrom('', '  ', '    ', '\t'), fc.constantFrom('a', 'b', 'c'))
    .map(([indent, word]) => indent + word),
  { minLength: 1, maxLength: 4 },
)

test('an edit with a prefix of white space on all lines has the effect of the edit with the indentation of the file, or none', () => {
  let accepted = 0
  const prefix = fc.constantFrom(' ', '  ', '    ', '\t')
  fc.assert(
    fc.property(nested, nested, nested, nested, prefix, fc.boolean(), (before, old, behind, fresh, more, isInFile) => {
      const shift = (lines: readonly string[]) => lines.map((line) => more + line)
      const [inFile, model] = isInFile ? [shift, (lines: string[]) => lines] : [(lines: string[]) => lines, shift]
      const join = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')
      const text = join([...before, ...inFile(old), ...behind])
      fc.pre(old.join() !== fresh.join() && !text.includes(join(model(old))))
      const exact = join([...before, ...inFile(fresh), ...behind])
      const lenient = after(text, join(model(old)), join(model(fresh)))
      if (lenient !== null) {
        accepted += 1
        expect(lenient).toBe(exact)
      }
    }),
    { numRuns: 3000 },
  )
  expect(accepted).toBeGreaterThan(300)
})

test('an edit of lines that are twice in the file is refused in every form', () => {
  const lines = someLines(1).filter((old) => old.some((text) => text.trim() !== ''))
  fc.assert(
    fc.property(someLines(0), lines, someLines(0), ({ length }, old, between) => {
      const text = [...'x'.repeat(length), ...old, ...between, ...old].map((one) => `${one}\n`).join('')
      const forms = [
        shown(old, length + 1),
        once(old.join('\n')),
        twice(old.join('\n')),
        old.map((one) => ` ${one}`).join('\n'),
      ]
      for (const form of forms) if (!text.includes(form)) expect(after(text, form, 'new')).toBeNull()
    }),
  )
})

test.each<[string, string, string, string, string]>([
  ['numbers on the old lines alone', 'a\nb\nc\n', '     1\ta\n     2\tb', 'x\ny', 'x\ny\nc\n'],
  ['a number without its tab on an empty line', 'a\n\nc\n', '     1\ta\n     2\n     3\tc\n', '     1\tx\n', 'x\n'],
  ['numbers of a view before other edits', 'a\nb\n', '   107\tb', '   107\tx\n   108\ty', 'a\nx\ny\n'],
  ['numbers in a CRLF file', 'a\r\nb\r\n', '     1\ta\n     2\tb\n', '     1\tx\n', 'x\r\n'],
  ['numbers whose first line lost its spaces', 'a\nb\n', '1\ta\n     2\tb', '1\tx\n     2\ty', 'x\ny\n'],
  ['written line breaks', 'aa\nb\nc\n', 'aa\\nb', 'aa(1)\\naa(2)\\n\\n  x', 'aa(1)\naa(2)\n\n  x\nc\n'],
  [
    'written line breaks and a known line with an open quote',
    "# it's\nb\n",
    "# it's\\nb",
    "# it's\\n  x",
    "# it's\n  x\n",
  ],
  ['a written line break at the end', 'a\nb\nc\n', 'a\\nb\\n', 'x\\n', 'x\nc\n'],
  ['written line breaks and a removal', 'a\nb\nc\n', 'a\\nb\\n', '', 'c\n'],
  [
    'escapes that are written twice',
    'a("\\d")\n\tb\n',
    'a(\\"\\\\d\\")\\n\\tb',
    'a(\\"\\\\n\\")\\n\\tc',
    'a("\\n")\n\tc\n',
  ],
  [
    'a prefix on the lines of the one place with this shape',
    'if a:\n  b\n c\nd\n    if a:\n        b\n    c\n',
    '  if a:\n      b\n  c\n',
    '  if a:\n      x\n',
    'if a:\n  b\n c\nd\n    if a:\n        x\n',
  ],
])('an edit with %s is accepted', (_name, text, old, fresh, result) => {
  expect(after(text, old, fresh)).toBe(result)
})

test.each<[string, string, string, string]>([
  ['numbers that do not follow each other', 'a\nb\n', '     1\ta\n     3\tb', 'x'],
  ['numbers on some of the old lines', 'a\nb\n', '     1\ta\nb', 'x'],
  ['numbers on some of the new lines', 'a\nb\n', '     1\ta\n     2\tb', '     1\tx\ny'],
  ['other numbers on the new lines', 'a\nb\n', '     1\ta', '     5\tx'],
  [
    'numbers before lines that begin with numbers, and a number before the new one',
    '1\tone\n',
    '     1\t1\tone',
    '1\ttwo',
  ],
  ['numbers and two places', 'a\nb\na\n', '     1\ta', '     1\tx'],
  ['numbers before the end of a line', 'return x\n', '     1\tturn x', '     1\tturn z'],
  ['numbers before a part of a line', 'return xyz\n', '     1\treturn x', '     1\treturn z'],
  ['a number that may be the line itself', 'a\nb\n', '     1\ta', '1\tx'],
  ['a number without the form of a view', 'a\nb\n', '1\ta', '1\tx'],
  ['numbers alone', 'a\n', '     1\t\n     2\t', 'x'],
  ['written line breaks and two places', 'a\nb\na\nb\n', 'a\\nb', 'x'],
  ['written line breaks up to a part of a line', 'a\nbc\n', 'a\\nb', 'x'],
  ['written line breaks beside real ones', 'a\nb\nc\n', 'a\\nb\nc', 'x'],
  ['a written line break in a new string', 'a\nb\n', 'a\\nb', 'say("x\\n")\\nb'],
  ['a written line break in a new pattern', 'a\nb\n', 'a\\nb', 'x.split(/\\n/)\\nb'],
  ['a written line break in a new set of characters', 'a\nb\n', 'a\\nb', 'b[\\n]\\nb'],
  ['a written line break and spaces in a new string', 'aa\nbb\n', 'aa\\nbb', 'say("x\\n  y")\\nbb'],
  ['a written line break and spaces in a new string of one quote', 'aa\nbb\n', 'aa\\nbb', "say('x\\n  y')\\nbb"],
  ['a written line break and spaces in a new pattern', 'aa\nbb\n', 'aa\\nbb', 'x.match(/\\n  y/)\\nbb'],
  ['a written line break and spaces in a new sentence', 'aa\nbb\n', 'aa\\nbb', '# at \\n  here\\nbb'],
  ['a written line break in a new sentence', 'a\nb\n', 'a\\nb', '# split at \\n here\\nb'],
  ['a name of TeX in the new text', 'aa\nbb\n', 'aa\\nbb', 'aa\\newpage'],
  ['a path in the new text', 'aa\nbb\n', 'aa\\nbb', 'C:\\new\\nbb'],
  ['a written line break at the end of the new text alone', 'aa\nbb\n', 'aa\\nbb', 'aa\\n'],
  ['an escape that the old text does not confirm', 'a\nb\n', 'a\\nb', 'x\\ty\\nb'],
  ['a prefix and two places with this shape', 'a:\n  b\nc\n  a:\n    b\n', '   a:\n     b\n', 'x\n'],
])('an edit with %s is refused, and nothing changes', (_name, text, old, fresh) => {
  expect(() => replaceOnce(text, old, fresh)).toThrow(/not found|found 2 times/)
})

test('the result says how an edit was read', () => {
  expect(replaceOnce('a\nb\n', '     1\ta', 'x').readAs).toBe('numbers')
  expect(replaceOnce('a\nb\n', 'a\\nb', 'x').readAs).toBe('line breaks')
  expect(replaceOnce('a\nb\n', 'a\nb', 'x').readAs).toBeUndefined()
})

test('the refusal of a text with line numbers on some lines names them, and finds the lines that are meant', () => {
  const file = 'begin\n  case first:\n    return one\n  case second:\n    return the second one\nend\n'
  const old = '  case second:\n     5\t    return the second onee\n'
  expect(() => replaceOnce(file, old, '  case third:\n')).toThrow(
    /Leave the line numbers of the view out of old_str and new_str\.\nThe nearest lines are:\n[^]*     5\t    return the second one/,
  )
  expect(() => replaceOnce(file, 'no such line', 'x')).not.toThrow(/line numbers/)
})
