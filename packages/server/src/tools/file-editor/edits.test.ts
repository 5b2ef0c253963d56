import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countLines, insertLines, numbered, replaceOnce } from './edits.ts'
import { decode, encode } from './text.ts'

const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\t', 'é'), maxLength: 6 })
const file = fc
  .tuple(fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 }), line)
  .map(([lines, last]) => lines.map((parts) => parts.join('')).join('') + last)

test('a replacement changes exactly one region and no other byte', () => {
  fc.assert(
    fc.property(file, line, line, line, (text, before, marked, fresh) => {
      const at = text.length >> 1
      // Never between the two characters of a CRLF.
      const cut = text[at - 1] === '\r' ? at + 1 : at
      const marker = `<${marked}>`
      const whole = text.slice(0, cut) + before + marker + text.slice(cut)
      const edited = replaceOnce(whole, marker, `[${fresh}]`)
      expect(edited.text).toBe(`${text.slice(0, cut)}${before}[${fresh}]${text.slice(cut)}`)
    }),
  )
})

test('inserting whole lines keeps every other line as it was', () => {
  fc.assert(
    fc.property(file, fc.nat(), line, (text, n, fresh) => {
      const after = n % (countLines(text) + 1)
      const { text: result } = insertLines(text, after, fresh)
      const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
      expect(result.startsWith(lines.slice(0, after).join(''))).toBe(true)
      expect(result.endsWith(lines.slice(after).join(''))).toBe(true)
      const isAtOpenEnd = after === lines.length && text !== '' && !text.endsWith('\n')
      if (isAtOpenEnd) expect(result.endsWith(fresh)).toBe(true)
    }),
  )
})

test('text decoded from bytes and encoded again is the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const decoded = decode(bytes)
      if (decoded !== null) expect(Buffer.from(encode(decoded.text, decoded.encoding))).toEqual(Buffer.from(bytes))
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['plain', Buffer.from('grün 🌲\n'), 'utf-8'],
  ['with a mark', Buffer.from('\ufeffa\n'), 'utf-8-bom'],
  ['Latin-1', Buffer.from('gr\xfcn\n', 'latin1'), 'latin1'],
  ['little-endian UTF-16', Buffer.from('\ufeffgrün', 'utf16le'), 'utf-16le'],
  ['big-endian UTF-16', Buffer.from('\ufeffgrün', 'utf16le').swap16(), 'utf-16be'],
  ['mostly UTF-8', Buffer.concat([Buffer.from('grün 🌲 '), Buffer.from([0xff])]), 'utf-8'],
])('the encoding of %s is detected', (_name, bytes, encoding) => {
  expect(decode(bytes)?.encoding).toBe(encoding)
})

test.each([
  ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0])],
  ['a document', Buffer.from('%PDF-1.7 text')],
  ['half a UTF-16 unit', Buffer.from([0xff, 0xfe, 0x41])],
])('%s is detected as binary', (_name, bytes) => {
  expect(decode(bytes)).toBeNull()
})

test('an invalid byte survives an edit beside it', () => {
  const bytes = Buffer.concat([Buffer.from('é one '), Buffer.from([0xc3]), Buffer.from(' two\n')])
  const { text, encoding } = decode(bytes)!
  const edited = encode(replaceOnce(text, 'two', '2 🌲').text, encoding)
  expect(Buffer.from(edited)).toEqual(
    Buffer.concat([Buffer.from('é one '), Buffer.from([0xc3]), Buffer.from(' 2 🌲\n')]),
  )
})

test('a Latin-1 file becomes UTF-8 as a whole when an edit adds a character outside Latin-1', () => {
  expect(Buffer.from(encode('grün 🌲', 'latin1')).toString('utf8')).toBe('grün 🌲')
})

test('new lines in a CRLF file end with CRLF', () => {
  expect(replaceOnce('a\r\nb\r\nc\r\n', 'a\nb', 'x\ny\nz').text).toBe('x\r\ny\r\nz\r\nc\r\n')
  expect(insertLines('a\r\nb', 1, 'x\ny').text).toBe('a\r\nx\r\ny\r\nb')
  expect(insertLines('a\r\nb', 2, 'x').text).toBe('a\r\nb\r\nx')
})

test.each<[string, number, string, string]>([
  ['', 0, 'x', 'x\n'],
  ['a\nb\n', 0, 'x', 'x\na\nb\n'],
  ['a\nb\n', 2, 'x', 'a\nb\nx\n'],
  ['a\nb', 2, 'x', 'a\nb\nx'],
  ['a\nb\n', 1, 'x\n', 'a\nx\nb\n'],
])('inserting into %j after line %i the text %j results in %j', (text, after, fresh, result) => {
  expect(insertLines(text, after, fresh).text).toBe(result)
})

test.each<[string, string, string, string | RegExp]>([
  ['a b a', 'a', 'c', /found 2 times, in lines 1, 1/],
  ['aaa', 'aa', 'c', /found 2 times/],
  ['a\n', ' \n', 'c', /more than white space/],
  ['a\n', 'a', 'a', /must differ/],
  ['a\n', 'b', 'c', /not found/],
])('in %j replacing %j by %j is refused', (text, old, fresh, reason) => {
  expect(() => replaceOnce(text, old, fresh)).toThrow(reason)
})

test.each<[string, string, string, string, string]>([
  [
    'a deeper indentation',
    'if a:\n        b()\n        c()\n',
    '    b()\n    c()\n',
    '    b(1)\n\n    if d:\n        c()\n',
    'if a:\n        b(1)\n\n        if d:\n            c()\n',
  ],
  [
    'a flatter indentation',
    'def f():\n  return x\n',
    '      return x\n',
    '      y = 1\n      return y\n',
    'def f():\n  y = 1\n  return y\n',
  ],
  [
    'tabs in place of spaces',
    'f:\n\tif a:\n\t\tb\n',
    '    if a:\n        b\n',
    '    if a:\n        while c:\n            b\n',
    'f:\n\tif a:\n\t\twhile c:\n\t\t\tb\n',
  ],
  ['white space at the end of lines', 'a  \nb\t\nc\n', 'a\nb', 'x\ny', 'x\ny\nc\n'],
  ['typographic characters', 'say("a - b")\n', 'say(“a – b”)', "say('c')", "say('c')\n"],
  ['empty lines at the edges', 'a\nb\nc\n', '\n  b\n\n', '\n  x\n\n', 'a\nx\nc\n'],
  ['a missing line break at the end of the file', 'a\nb', '  b\n', '  c\n', 'a\nc'],
  ['CRLF', 'a\r\n  b\r\nc\r\n', '\tb\n', '\tx\n\ty\n', 'a\r\nb\r\nc\r\n'.replace('b', '  x\r\n  y')],
  ['the removal of lines', 'a\n    b\nc\n', '  b\n', '', 'a\nc\n'],
  ['a part of the indentation', '    b\n', '  b\n', '  if a:\n    b\n', '    if a:\n      b\n'],
])(
  'whole lines match with %s, and the new lines get the indentation of the file',
  (_name, text, old, fresh, result) => {
    expect(replaceOnce(text, old, fresh)).toMatchObject({ text: result, readAs: 'white space' })
  },
)

test('a text with other white space never matches inside a word or a line', () => {
  expect(() => replaceOnce('    return xyz\n', '    return x\n', '        return z\n')).toThrow(/not found/)
  expect(() => replaceOnce('one two three', ' two \n', ' 2 ')).toThrow(/not found/)
})

test('lines that match more than once with relaxed white space are refused with their numbers', () => {
  expect(() => replaceOnce('  a\nb\n    a\n', '\ta\n', 'c')).toThrow(/found 2 times, in lines 1, 3/)
})

test('an indentation that fits no rule is refused with the lines of the file', () => {
  expect(() => replaceOnce('if a:\n   b\n c\n', 'if a:\n  b\n  c\n', 'd\n')).toThrow(/indentation[^]*2\t {3}b\n/)
})

test('a text that is not found is refused with the three nearest lines and their numbers', () => {
  const text =
    'import os\n\ndef total(rows):\n    return sum(rows)\n\ndef total_of(row):\n    pass\n\ndef totals(rows, by):\n'
  expect(() => replaceOnce(text, 'def totl(rows):\n', 'def f():\n')).toThrow(
    /nearest lines are:\n {5}3\tdef total\(rows\):\n {5}6\tdef total_of\(row\):\n {5}9\tdef totals\(rows, by\):$/,
  )
  expect(() => replaceOnce('a\n', 'something else', 'c')).toThrow(/View the file first/)
})

test('line numbers are six wide, followed by a tab', () => {
  expect(numbered('a\r\nb\n', 1, 9)).toBe('     1\ta\n     2\tb')
})
