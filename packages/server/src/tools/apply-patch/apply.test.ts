import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyHunks } from './apply.ts'
import { parsePatch, type Hunk } from './parse.ts'

const update = (...lines: string[]) => `*** Begin Patch\n*** Update File: f\n${lines.join('\n')}\n*** End Patch`

function applied(text: string, ...lines: string[]) {
  const [section] = parsePatch(update(...lines))
  return applyHunks('f', text, section?.kind === 'update' ? section.hunks : [])
}

test('all kinds of sections are parsed, in order', () => {
  const patch = [
    '*** Begin Patch',
    '*** Add File: a b.txt',
    '+one',
    '+',
    '*** Delete File: gone.txt',
    '*** Update File: x.ts',
    '*** Move to: y.ts',
    '@@ class A',
    '@@ def f',
    ' keep',
    '',
    '-old',
    '+new',
    '',
    '@@',
    '+end',
    '*** End of File',
    '*** End Patch',
    '',
  ].join('\n')
  expect(parsePatch(patch)).toEqual([
    { kind: 'add', path: 'a b.txt', lines: ['one', ''] },
    { kind: 'delete', path: 'gone.txt' },
    {
      kind: 'update',
      path: 'x.ts',
      moveTo: 'y.ts',
      hunks: [
        {
          anchors: ['class A', 'def f'],
          isAtEnd: false,
          lines: [
            { op: ' ', text: 'keep' },
            { op: ' ', text: '' },
            { op: '-', text: 'old' },
            { op: '+', text: 'new' },
          ],
        },
        { anchors: [], isAtEnd: true, lines: [{ op: '+', text: 'end' }] },
      ],
    },
  ])
  expect(parsePatch(patch.replaceAll('\n', '\r\n'))).toEqual(parsePatch(patch))
})

test('empty lines between sections are ignored', () => {
  const patch = '*** Begin Patch\n*** Add File: a\n+x\n\n*** Update File: f\n-a\n+b\n\n*** End Patch'
  expect(parsePatch(patch)).toEqual(parsePatch(patch.replaceAll('\n\n', '\n')))
})

const plainPatch = update('-a', '+b')

test.each([
  ['a code fence', `\`\`\`diff\n${plainPatch}\n\`\`\`\n`],
  ['a here-document', `apply_patch <<'EOF'\n${plainPatch}\nEOF`],
  ['a here-document with an unusual delimiter', `cat <<"PATCH-1" | apply_patch\n${plainPatch}\nPATCH-1\n`],
  ['words around it', `Here is the patch:\n\n${plainPatch}\n\nIt changes one line.`],
  ['the names of a unified diff', update('--- a/f', '+++ b/f', '@@', '-a', '+b')],
  ['an anchor with a closing mark', update('@@ @@', '-a', '+b')],
])('a patch with %s is the patch inside', (_name, patch) => {
  expect(parsePatch(patch)).toEqual(parsePatch(plainPatch))
})

test('several envelopes count as one', () => {
  const both = `${plainPatch}\n\n${plainPatch.replace('File: f', 'File: g')}`
  expect(parsePatch(both).map(({ path }) => path)).toEqual(['f', 'g'])
})

test('lines of a file that look like an envelope are lines of the file', () => {
  expect(applied(' x\n*** End Patch\ny\n', ' *** End Patch', '-y', '+z').text).toBe(' x\n*** End Patch\nz\n')
  expect(parsePatch('*** Begin Patch\n*** Add File: a\n+*** End Patch\n*** End Patch')).toEqual([
    { kind: 'add', path: 'a', lines: ['*** End Patch'] },
  ])
})

test.each([
  ['', /must begin/],
  ['*** Begin Patch', /must end/],
  ['*** Begin Patch\n*** End Patch', /changes no file/],
  ['*** Begin Patch\nhello\n*** End Patch', /line 2 is no/],
  ['*** Begin Patch\n*** Add File: \n+x\n*** End Patch', /line 2 names no file/],
  ['*** Begin Patch\n*** Add File: a\nx\n*** End Patch', /line 3: .*begins with "\+"/],
  [update('?x'), /line 3 begins with neither/],
  [update(), /line 3 begins|changes nothing|without lines/],
  [update('@@ f'), /without lines/],
])('the patch %j is malformed', (patch, reason) => {
  expect(() => parsePatch(patch)).toThrow(reason)
  expect(() => parsePatch(patch)).toThrow(/^Malformed patch/)
})

describe('hunks', () => {
  test('a hunk changes its lines at the first match after the hunk before', () => {
    expect(applied('a\nb\na\nb\n', ' a', '-b', '+c', '@@', ' a', '-b', '+d')).toEqual({ text: 'a\nc\na\nd\n', fuzz: 0 })
  })

  test('a hunk matches after its anchors', () => {
    const text = 'def f:\n  pass\ndef g:\n  pass\n'
    expect(applied(text, '@@ def g:', '-  pass', '+  run').text).toBe('def f:\n  pass\ndef g:\n  run\n')
    expect(applied(text, '@@ def f:', '+  # new').text).toBe('def f:\n  # new\n  pass\ndef g:\n  pass\n')
  })

  test('the numbers of a unified diff select the nearest of several matches, and are otherwise ignored', () => {
    const text = 'a\nx\na\ny\na\nz\n'
    expect(applied(text, '@@ -3,2 +3,2 @@ def f(', '-a', '+b').text).toBe('a\nx\nb\ny\na\nz\n')
    expect(applied(text, '@@ -90 +90 @@', '-a', '+b').text).toBe('a\nx\na\ny\nb\nz\n')
    expect(applied(text, '@@ -90,2 +90,2 @@', '-y', '+b').text).toBe('a\nx\na\nb\na\nz\n')
  })

  test('a hunk matches typographic spaces, dashes and quotation marks', () => {
    expect(applied('a — “b”\nc\n', ' a - "b"', '-c', '+d')).toEqual({ text: 'a — “b”\nd\n', fuzz: 1000 })
    expect(applied('a - b\n', '-a\u00A0– b', '+d').text).toBe('d\n')
  })

  test('a hunk that only adds is appended', () => {
    expect(applied('a\n', '+b').text).toBe('a\nb\n')
    expect(applied('', '+b').text).toBe('b\n')
  })

  test('a hunk at the end of the file matches its last lines', () => {
    expect(applied('x\ny\nx\n', '-x', '+z', '*** End of File')).toEqual({ text: 'x\ny\nz\n', fuzz: 0 })
    expect(applied('x\ny\n', '-x', '+z', '*** End of File')).toEqual({ text: 'z\ny\n', fuzz: 10_000 })
  })

  test.each([
    ['a \nb\n', 1],
    ['  a\nb\n', 100],
  ])('a hunk ignores space at the edges of %j, and reports the fuzz', (text, fuzz) => {
    const found = applied(text, ' a', '-b', '+c')
    expect(found).toEqual({ text: text.replace('b', 'c'), fuzz })
  })

  test.each([
    ['a\r\nb\r\nc\r\n', 'a\r\nB\r\nnew\r\nc\r\n'],
    ['a\nb\nc', 'a\nB\nnew\nc'],
    ['a\r\nb\nc\n', 'a\r\nB\r\nnew\r\nc\n'],
  ])('a hunk keeps the line ends of %j', (text, changed) => {
    expect(applied(text, ' a', '-b', '+B', '+new').text).toBe(changed)
  })

  test('a file without a last line end still has none after a patch', () => {
    expect(applied('a\nb', '-b', '+c').text).toBe('a\nc')
    expect(applied('a\nb', '+c').text).toBe('a\nb\nc')
    expect(applied('a\nb', '-b').text).toBe('a')
  })

  test('a hunk that matches nowhere is shown in the refusal', () => {
    expect(() => applied('a\n', '-b', '+c')).toThrow(/Context not found in f: .*\nb\n/)
    expect(() => applied('a\nb\n', '@@ b', '-a', '+c')).toThrow(/after line 2/)
    expect(() => applied('a\n', '@@ zzz', '+c')).toThrow(/Context not found in f: .*\nzzz\n/)
  })
})

test('replacing any lines of a text of different ones touches no other', () => {
  const line = fc.stringMatching(/^[a-z]{1,8}$/)
  fc.assert(
    fc.property(
      fc.uniqueArray(line, { minLength: 1, maxLength: 12 }),
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.array(line, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('\n', '\r\n'),
      (lines, start, count, added, eol) => {
        const at = start % lines.length
        const removed = lines.slice(at, at + Math.max(1, count))
        const hunk: Hunk = {
          anchors: [],
          isAtEnd: false,
          lines: [
            ...removed.map((text) => ({ op: '-' as const, text })),
            ...added.map((text) => ({ op: '+' as const, text })),
          ],
        }
        const expected = [...lines.slice(0, at), ...added, ...lines.slice(at + removed.length)]
        const text = lines.map((one) => one + eol).join('')
        expect(applyHunks('f', text, [hunk]).text).toBe(expected.map((one) => one + eol).join(''))
      },
    ),
  )
})
