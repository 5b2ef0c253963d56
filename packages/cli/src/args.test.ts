import { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { command, helpText, parse, UsageError } from './args.ts'
import { parseExpiry } from './expiry.ts'
import type { Io } from './io.ts'
import { main } from './main.ts'

const spec = command({
  usage: 'tail ID [flags]',
  about: 'Prints things.',
  flags: {
    after: { type: 'string', value: 'SEQ', short: 'a', about: 'where to begin' },
    json: { type: 'boolean', about: 'as JSON' },
  },
  words: [1, 1],
  run: () => Promise.resolve(0),
})

test.each<[string[], unknown]>([
  [['x'], { flags: {}, words: ['x'] }],
  [['--after', '3', 'x', '--json'], { flags: { after: '3', json: true }, words: ['x'] }],
  [['-a3', 'x'], { flags: { after: '3' }, words: ['x'] }],
  [['--after=3', '--', '--x'], { flags: { after: '3' }, words: ['--x'] }],
])('%o is understood', (argv, expected) => {
  expect(parse(spec, argv)).toMatchObject(expected as object)
})

test.each<[string[], RegExp]>([
  [[], /something is missing: parley tail ID/],
  [['a', 'b'], /"b" is one word too many/],
  [['--jsonn', 'a'], /unknown flag '--jsonn'$/],
  [['a', '--after'], /--after/],
  [['a', '--json=yes'], /--json/],
])('%o is refused', (argv, message) => {
  expect(() => parse(spec, argv)).toThrow(UsageError)
  expect(() => parse(spec, argv)).toThrow(message)
})

test('help is given whatever else is missing', () => {
  expect(parse(spec, ['--help']).help).toBe(true)
  expect(helpText(spec)).toBe(
    [
      'Prints things.',
      '',
      'usage: parley tail ID [flags]',
      '',
      '  -a, --after SEQ  where to begin',
      '      --json       as JSON',
    ].join('\n'),
  )
})

const NOW = new Date('2026-11-21T10:00:00Z')
test.each([
  ['12h', '2026-11-21T22:00:00.000Z'],
  ['90d', '2027-02-19T10:00:00.000Z'],
  ['2027-06-30', '2027-06-30T23:59:59.000Z'],
  ['2027-06-30T12:00:00+02:00', '2027-06-30T10:00:00.000Z'],
])('a key that expires at %s ends at %s', (text, at) => {
  expect(parseExpiry(text, NOW)).toBe(at)
})

test.each(['soon', '5', '12x', '2026-01-01', '0h', ''])('"%s" is no time a key can end at', (text) => {
  expect(() => parseExpiry(text, NOW)).toThrow(UsageError)
})

function recorder() {
  const out: string[] = []
  const sink = (name: string) =>
    new Writable({ write: (chunk, _encoding, done) => (out.push(`${name}${String(chunk)}`), done()) })
  const io: Io = {
    stdin: Readable.from([]),
    stdout: sink(''),
    stderr: sink('! '),
    env: {},
    cwd: '/',
    home: '/nowhere',
    onSignal: () => () => {},
    exitNow: () => {},
  }
  return { io, out }
}

test.each<[string[], number, RegExp]>([
  [[], 2, /^usage: parley COMMAND[\s\S]*serve[\s\S]*doctor/],
  [['--help'], 0, /^usage: parley COMMAND[\s\S]*backup +copy the data[\s\S]*restore +restore a backup/],
  [['--version'], 0, /^\d+\.\d+\.\d+\n$/],
  [['bogus'], 2, /^! parley: there is no command "bogus"; see parley --help\n$/],
  [['constructor'], 2, /there is no command/],
  [['tail', '--help'], 0, /usage: parley tail ID[\s\S]*--after SEQ/],
  [['serve', '--prot', '1'], 2, /^! parley serve: unknown flag '--prot'\nsee parley serve --help\n$/],
  [['tail', 'not-an-id'], 2, /"not-an-id" is no id of a conversation/],
  [['config', '--port', 'x'], 1, /^! parley config: --port must be a whole number/],
])('parley %o ends with %d', async (argv, code, output) => {
  const { io, out } = recorder()
  expect(await main(argv, io)).toBe(code)
  expect(out.join('')).toMatch(output)
})
