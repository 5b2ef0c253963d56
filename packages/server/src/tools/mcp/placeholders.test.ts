import { MCPServer } from '@parley/protocol'
import { expect, test } from 'vitest'
import { expandArguments, expandServer, namesIn, namesInArguments } from './placeholders.ts'

const server = MCPServer.parse({
  url: 'https://${HOST:-mcp.example}/mcp',
  headers: { 'X-Key': '${KEY}', 'X-Both': '${KEY}-${OTHER}' },
})

test('a configuration requires the names in its placeholders, each once', () => {
  expect(namesIn(server)).toEqual(['HOST', 'KEY', 'OTHER'])
  expect(namesIn(MCPServer.parse({ command: 'x', args: ['$KEY', 'HOST'] }))).toEqual([])
})

test('values override defaults, and a placeholder with neither stays', () => {
  const { url, headers } = expandServer(server, { KEY: 'k' })
  expect(url).toBe('https://mcp.example/mcp')
  expect(headers).toEqual({ 'X-Key': 'k', 'X-Both': 'k-${OTHER}' })
  expect(expandServer(server, { HOST: 'h' }).url).toBe('https://h/mcp')
})

test.each([
  ['$KEY', 'v'],
  ['${KEY}', 'v'],
  ['${KEY:-y}', '${KEY:-y}'],
  ['$KEYS and $$KEY', '$KEYS and $v'],
  ['$HOME ${PATH} $1', '$HOME ${PATH} $1'],
  ['$constructor ${toString}', '$constructor ${toString}'],
])('arguments %s become %s', (text, expected) => {
  const names = namesInArguments({ deep: [text] }, ['KEY'])
  const values = Object.fromEntries(names.map((name) => [name, 'v']))
  expect(expandArguments({ deep: [text], $KEY: 1 }, values)).toEqual({ deep: [expected], $KEY: 1 })
})

test('a value is inserted as it is, also when it looks like a placeholder', () => {
  expect(expandArguments('a $KEY', { KEY: '$& $OTHER', OTHER: 'no' })).toBe('a $& $OTHER')
})
