import { expect, test } from 'vitest'
import { ConfigError } from './error.ts'
import { deadlines, gitHosts } from './starts.ts'
import type { Reader } from './values.ts'

/** Null for a refused value. */
function read<T>(reader: Reader<T>, value: unknown): T | null {
  try {
    return reader.read({ value, origin: 'X', base: '/' }, '/')
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return null
  }
}

test.each<[unknown, unknown]>([
  [{}, {}],
  [{ github: 'https://git.example.org/' }, { github: 'https://git.example.org' }],
  ['{"git_host_2": "http://10.0.0.1:3000/scm"}', { gitlab: 'http://10.0.0.1:3000/scm' }],
  [{ sourceforge: 'https://x.test' }, null],
  [{ github: 'git@github.com' }, null],
  [{ github: 'https://user:word@x.test' }, null],
  [{ github: 5 }, null],
  ['not json', null],
  ['5', null],
  ['[]', null],
  [[], null],
  [7, null],
])('the git hosts %j are read as %j', (value, hosts) => {
  expect(read(gitHosts, value)).toEqual(hosts)
})

test.each<[unknown, unknown]>([
  [
    { repository: 2.5, agent: 1 },
    { repository: 2500, agent: 1000 },
  ],
  ['{"setup": 60}', { setup: 60_000 }],
  [{ ready: 5 }, null],
  [{ clone: 5 }, null],
  [{ repository: 0 }, null],
  [{ repository: '5' }, null],
])('the start deadlines %j are read as %j', (value, expected) => {
  expect(read(deadlines, value)).toEqual(expected)
})
