import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlainText } from './plain-text.ts'

function plain(...chunks: (string | Buffer)[]): { text: string; commands: string[] } {
  let text = ''
  const commands: string[] = []
  const filter = new PlainText(
    (part) => (text += part),
    (payload) => commands.push(payload),
  )
  for (const chunk of chunks) filter.write(Buffer.from(chunk))
  filter.flush()
  return { text, commands }
}

test.each<[string, string | Buffer, string]>([
  ['lines of a terminal become lines of a text', 'a\r\nb\r\n', 'a\nb\n'],
  ['colours are removed', '\x1b[1;31mred\x1b[0m\n', 'red\n'],
  ['titles and links are removed', '\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n', 'xlink\n'],
  ['device strings and charsets are removed', '\x1bPq123\x1b\\a\x1b(Bb\x1b=c\n', 'abc\n'],
  ['switches to the alternate screen are removed', '\x1b[?1049h\x1b[2J\x1b[HText\x1b[?1049l\n', 'Text\n'],
  ['a progress bar keeps its last state', ' 10%\r 50%\r100%\r\ndone\n', '100%\ndone\n'],
  ['a shorter line over a longer one leaves its rest', 'abcdef\rxy\n', 'xycdef\n'],
  ['erasing to the end of the line removes its rest', 'abcdef\rxy\x1b[K\n', 'xy\n'],
  ['text after backspaces overwrites', 'abd\bc\n', 'abc\n'],
  ['a jump to another line becomes a line break', 'one\x1b[5;1Htwo', 'one\ntwo'],
  ['invalid UTF-8 is replaced', Buffer.from([0x61, 0xff, 0xfe, 0x62, 0xe2, 0x82, 0x0a]), 'a\ufffd\ufffdb\ufffd\n'],
  ['bells, NULs and C1 controls are removed, tabs stay', 'a\x07\x00\u0085\tb\n', 'a\tb\n'],
  ['an unfinished line is passed on by flush', 'Password: ', 'Password: '],
  ['an unfinished title ends with its line', '\x1b]0;no end\nnext\n', 'next\n'],
])('plain text of terminal output: %s', (_, input, text) => {
  expect(plain(input).text).toBe(text)
})

test('an unfinished escape sequence before an operating-system command does not swallow it', () => {
  for (const garbage of ['\x1b', '\x1b[12', '\x1b]0;abc', '\x1bP1', '\x1b(', '\xe2']) {
    expect(plain(`${garbage}\x1b]7717;n;0;\x07`).commands).toContain('7717;n;0;')
  }
})

test('the plain text does not depend on where chunks are cut', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '\r\n',
      '\r',
      '\b',
      '\x1b[31m',
      '\x1b[K',
      '\x1b]7717;x\x07',
      '\x1b]0;t\x1b\\',
      '\x1b',
      '€',
      '\x18',
      '\x1b[2;3H',
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(200), { maxLength: 8 }), (pieces, cuts) => {
      const bytes = Buffer.from(pieces.join(''))
      const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
      const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      expect(plain(...chunks)).toEqual(plain(bytes))
    }),
  )
})

test('plain text never contains a control character', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      // eslint-disable-next-line no-control-regex -- that is the promise
      expect(plain(Buffer.from(bytes)).text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    }),
  )
})

test('a line of a million characters without a line end is passed on in parts', () => {
  const { text } = plain(...Array.from({ length: 100 }, () => 'x'.repeat(10_000)))
  expect(text.length).toBe(1_000_000)
})
