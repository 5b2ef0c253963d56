import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hintsOf, visibleText } from '../approve/visible-text.ts'
import { linesOf, plainOf } from './ansi-runs.ts'
import { differenceOf } from './diff-lines.ts'
import { hostOf, isDataImage, safeLink } from './links.ts'
import { blocksOf, GrowingBlocks } from './markdown-blocks.ts'

const MARKDOWN = fc.array(
  fc.constantFrom(
    'a word',
    '\n',
    '\n\n',
    '- ',
    '1. ',
    '> ',
    '```',
    '```js\n',
    '| a | b |\n|---|---|\n',
    '# ',
    '**',
    '_',
    '`',
    '<img src=x onerror=alert(1)>',
    '[text](https://a.example)',
    '![i](https://b.example/x.png)',
    '    ',
    '\t',
    '---\n',
    '===\n',
    '\r\n',
    '[ref]: https://c.example\n',
    '&lt;',
  ),
  { maxLength: 40 },
)

describe('texts', () => {
  it('a text that grows has the blocks of the whole text at its end', () => {
    fc.assert(
      fc.property(MARKDOWN, (parts) => {
        // A definition of a reference changes blocks that are closed; streamed text shows it when the answer is stored.
        const list = parts.filter((part) => !part.startsWith('[ref]'))
        const growing = new GrowingBlocks()
        let text = ''
        let blocks = growing.read('')
        for (const part of list) {
          text += part
          blocks = growing.read(text)
        }
        const raw = (all: ReturnType<typeof blocksOf>) => all.map(({ source }) => source).join('|')
        expect(raw(blocks).replaceAll(/\s/g, '')).toBe(raw(blocksOf(text)).replaceAll(/\s/g, ''))
      }),
      { numRuns: 300 },
    )
  })

  it('only web and mail addresses become links', () => {
    const refused = [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      ' data:text/html,x',
      'vbscript:x',
      'file:///etc',
      '/api',
      '',
    ]
    for (const address of refused) expect(safeLink(address, 'text')).toBeNull()
    expect(safeLink('https://user:pass@a.example', 'text')).toBeNull()
    expect(safeLink('mailto:a@b.example', 'text')?.href).toBe('mailto:a@b.example')
  })

  it('a link whose text names another host shows the real one', () => {
    expect(safeLink('https://evil.example/x', 'https://bank.example')?.host).toBe('evil.example')
    expect(safeLink('https://bank.example/x', 'bank.example')?.host).toBe('')
    expect(safeLink('https://evil.example/x', 'the docs')?.host).toBe('')
  })

  it('images are shown only from their own address, and never as SVG', () => {
    expect(isDataImage('data:image/png;base64,AA')).toBe(true)
    expect(isDataImage('data:image/svg+xml;base64,AA')).toBe(false)
    expect(isDataImage('https://a.example/x.png')).toBe(false)
    expect(hostOf('https://a.example/x.png')).toBe('a.example')
  })

  it('a carriage return shows what a terminal would show', () => {
    expect(linesOf('10%\r20%\rdone\nnext\r\n')).toEqual(['done', 'next'])
    expect(plainOf('\u001b[31mred\u001b[0m\u001b[2K\u001b]0;title\u0007!')).toBe('red!')
  })

  it('output of any form gives its text without escape characters', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('\u001b[31m', '\u001b[', '\u001b]8;;x\u0007', 'a', '<b>', '\n', '\u0007', '\u001b')),
        (parts) => {
          expect(plainOf(parts.join(''))).not.toContain('\u001b')
        },
      ),
    )
  })

  it('a difference numbers its lines and leaves unchanged parts out', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n')
    const { lines, added, removed } = differenceOf(before, before.replace('line 10', 'new'))
    expect([added, removed, lines.filter(({ kind }) => kind === 'gap').length]).toEqual([1, 1, 2])
    expect(lines.find(({ kind }) => kind === 'added')).toMatchObject({ text: 'new', after: 11 })
  })

  it('a difference has every line of both texts, or counts it in a gap', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { lines } = differenceOf(before, after)
        const count = (kinds: string[]) =>
          lines.filter(({ kind }) => kinds.includes(kind)).reduce((sum, line) => sum + line.count, 0)
        const length = (value: string) => (value === '' ? 0 : value.replace(/\n$/, '').split('\n').length)
        expect([count(['same', 'gap', 'removed']), count(['same', 'gap', 'added'])]).toEqual([
          length(before),
          length(after),
        ])
      }),
    )
  })

  it('control, bidirectional, invisible and look-alike characters are visible', () => {
    for (const char of [
      '\u202e',
      '\u200b',
      '\u0000',
      '\u001b',
      '\u00a0',
      '\u2066',
      '\u3164',
      '\u{e0041}',
      'а',
      '／',
      'ａ',
      '\ufeff',
    ])
      expect([char, hintsOf(visibleText(`rm ${char}x`))]).toEqual([char, 1])
    expect(hintsOf(visibleText('git commit -m "ß 漢字 é"\nls'))).toBe(0)
  })

  it('the pieces of a text hide no character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const pieces = visibleText(text)
        const plain = pieces.filter(({ hint }) => hint === '').reduce((sum, piece) => sum + [...piece.text].length, 0)
        expect(plain + hintsOf(pieces)).toBe([...text].length)
        expect(pieces.every((piece) => piece.text !== '')).toBe(true)
      }),
    )
  })
})
