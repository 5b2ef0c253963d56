import { expect, test } from 'vitest'
import { MCPConfig } from './mcp-config.ts'
import { splitWords } from './shell-words.ts'

// Source: conversation-service.md 1.1.
test('short spellings of MCP servers are expanded', () => {
  expect(
    MCPConfig.parse({
      sse_servers: ['https://a/sse'],
      shttp_servers: [{ url: ' https://b/mcp ', api_key: 'k' }],
      stdio_servers: [
        { name: ' one ', command: 'npx', args: `-y 'a b'`, env: 'A=1, B=two words' },
        { name: 'two', command: 'npx', args: null, env: null },
      ],
    }),
  ).toEqual({
    sse_servers: [{ url: 'https://a/sse', api_key: null }],
    shttp_servers: [{ url: 'https://b/mcp', api_key: 'k', timeout: 60 }],
    stdio_servers: [
      { name: 'one', command: 'npx', args: ['-y', 'a b'], env: { A: '1', B: 'two words' } },
      { name: 'two', command: 'npx', args: [], env: {} },
    ],
  })
})

test.each<[config: object, path: (string | number)[], type: string]>([
  [{ sse_servers: [{ url: '' }] }, ['sse_servers', 0, 'url'], 'value_error'],
  [{ sse_servers: [{ url: 'ftp://a' }] }, ['sse_servers', 0, 'url'], 'value_error'],
  [{ sse_servers: [{ url: 5 }] }, ['sse_servers', 0, 'url'], 'string_type'],
  [{ sse_servers: [{}] }, ['sse_servers', 0, 'url'], 'missing'],
  [{ shttp_servers: [{ url: 'http://a', timeout: 0 }] }, ['shttp_servers', 0, 'timeout'], 'greater_than_equal'],
  [{ stdio_servers: [{ name: 'a b', command: 'c' }] }, ['stdio_servers', 0, 'name'], 'value_error'],
  [{ stdio_servers: [{ name: 'a', command: 'c d' }] }, ['stdio_servers', 0, 'command'], 'value_error'],
  [{ stdio_servers: [{ name: 'a', command: 'c', args: '"x' }] }, ['stdio_servers', 0, 'args'], 'value_error'],
  [{ stdio_servers: [{ name: 'a', command: 'c', env: '1=x' }] }, ['stdio_servers', 0, 'env'], 'value_error'],
])('the MCP configuration %j is refused at %j as %s', (config, path, type) => {
  expect(MCPConfig.safeParse(config).error?.issues).toMatchObject([{ path, params: { type } }])
})

test('an MCP configuration is closed, its entries are open', () => {
  expect(MCPConfig.safeParse({ x: 1 }).error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['x'] }])
  expect(MCPConfig.parse({ sse_servers: [{ url: 'http://a', x: 1 }] }).sse_servers[0]).not.toHaveProperty('x')
})

test.each([
  ['', []],
  ['  a  b ', ['a', 'b']],
  [`'a "b' c`, ['a "b', 'c']],
  [`"a \\" b" c\\ d`, ['a " b', 'c d']],
  [`a''b ""`, ['ab', '']],
  [`"a\\nb"`, ['a\\nb']],
  [`'open`, null],
  ['trailing\\', null],
])('the arguments %j are split into %j', (line, words) => {
  expect(splitWords(line)).toEqual(words)
})
