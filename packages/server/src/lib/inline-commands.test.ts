import { expect, test } from 'vitest'
import { commandsIn, inlineCommands } from './inline-commands.ts'

const SHOWN = (text: string) =>
  inlineCommands(text)
    .map((piece) => (piece.kind === 'text' ? piece.text : `<${piece.command}>`))
    .join('')

test.each([
  ['plain text', 'plain text'],
  ['Tag: !`git describe`, then', 'Tag: <git describe>, then'],
  ['!`a` and !`b`', '<a> and <b>'],
  ['kept: \\!`git describe` as it is', 'kept: !`git describe` as it is'],
  ['in code: ``!`a` `` stays', 'in code: ``!`a` `` stays'],
  ['`code` !`a`', '`code` <a>'],
  ['never closed !`a', 'never closed !`a'],
  ['over a line !`a\nb`', 'over a line !`a\nb`'],
  ['empty !`` here', 'empty !`` here'],
  ['```sh\n!`a`\n```\n!`b`', '```sh\n!`a`\n```\n<b>'],
  ['~~~\n!`a`\n```\n!`b`\n~~~\n!`c`', '~~~\n!`a`\n```\n!`b`\n~~~\n<c>'],
  ['before !`a`\n```\n!`b`\nnever closed', 'before <a>\n```\n!`b`\nnever closed'],
])('the text %j is split into %j', (text, shown) => {
  expect(SHOWN(text)).toBe(shown)
})

test('commandsIn returns the commands of a text in order', () => {
  expect(commandsIn('!`a` `x` !`b`')).toEqual(['a', 'b'])
})

test('a long text of backticks is split quickly', () => {
  const started = performance.now()
  inlineCommands('`!`'.repeat(20_000))
  inlineCommands('`'.repeat(100_000))
  expect(performance.now() - started).toBeLessThan(5000)
})
