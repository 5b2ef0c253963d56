import { expect, test } from 'vitest'
import { secretValues } from './secret-values.ts'

test('secretValues finds credentials at every position of a record', () => {
  const record = {
    agent: {
      llm: { api_key: 'llm-key', model: 'x' },
      mcp_config: { s: { auth: { strategy: 'bearer', value: 'mcp' } } },
    },
    workspace: { api_key: 'workspace-key' },
    secrets: { A: 'plain', B: { kind: 'StaticSecret', value: 'static' }, C: { value: 'kindless' } },
    retired: { secrets: { was_0: 'old' } },
    tags: { token: 'no secret' },
  }
  const found = ['llm-key', 'mcp', 'workspace-key', 'plain', 'static', 'kindless', 'old']
  expect([...secretValues(record)].toSorted()).toEqual(found.toSorted())
})

test.each<[string, object, string[]]>([
  ['a secret by its name', { env: { API_TOKEN: 'word' } }, ['word']],
  ['what looks like one', { env: { GH_PAT: 'ghp_0123456789' } }, ['ghp_0123456789']],
  ['a word of everyday', { env: { NODE_ENV: 'production' } }, []],
  ['a place', { env: { HOME: '/home/somebody1' } }, []],
  ['places on several lines', { env: { PATHS: '/opt/a1\n/opt/b2' } }, []],
  ['a number', { env: { PORT: '8080' } }, []],
  ['a short text', { env: { RELEASE: 'v1.2.3' } }, []],
  ['an ordinary header of a look-up', { x: { kind: 'LookupSecret', headers: { Accept: 'text/plain' } } }, []],
  ['an ordinary header', { headers: { Accept: 'application/json' } }, []],
  ['a credential without its scheme', { headers: { Authorization: 'Bearer t0ken-1' } }, ['Bearer t0ken-1', 't0ken-1']],
])('secretValues reads environments and headers: %s', (_, record, found) => {
  expect(secretValues(record)).toEqual(found)
})
