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

test('a text that matches only without surrounding blanks is accepted, and the new text is not trimmed', () => {
  expect(replaceOnce('one two three', ' two \n', ' 2 ').text).toBe('one  2  three')
})

test('line numbers are six wide, followed by a tab', () => {
  expect(numbered('a\r\nb\n', 1, 9)).toBe('     1\ta\n     2\tb')
})
