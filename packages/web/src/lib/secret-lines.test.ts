import { expect, test } from 'vitest'
import { secretLines } from './secret-lines.ts'

test('a file of variables is read as secrets', () => {
  const text = '# tokens\nexport A_TOKEN="one two"\r\n\nB=x=y==\n  C = \'z\'\nD=\n'
  expect(secretLines(text)).toEqual([
    { name: 'A_TOKEN', value: 'one two' },
    { name: 'B', value: 'x=y==' },
    { name: 'C', value: 'z' },
    { name: 'D', value: '' },
  ])
})

test.each(['', 'a value', '-----BEGIN KEY-----\nabc=\n-----END KEY-----', 'A=1\nsecond line', '1A=x', '# nothing'])(
  'the text %j is a value and no list of secrets',
  (text) => {
    expect(secretLines(text)).toBe(null)
  },
)
