import { expect, test } from 'vitest'
import { installedCommand, providerOfCommand, providerOfName } from './providers.ts'

test.each([
  [['npx', '-y', '@agentclientprotocol/claude-agent-acp@0.63.0'], 'claude-code'],
  [['npx', '@agentclientprotocol/claude-agent-acp'], 'claude-code'],
  [['/usr/bin/npx', '-y', '@google/gemini-cli', '--acp'], 'gemini-cli'],
  [['/opt/codex-acp'], 'codex'],
  [['npx', '-y', 'something-else'], undefined],
  [['node', 'codex.js'], undefined],
])('the command line %o starts the provider %s', (command, key) => {
  expect(providerOfCommand(command)?.key).toBe(key)
})

test('a provider is found by its reported name, and an installed binary gets the same arguments', () => {
  expect(providerOfName('@zed/Claude-Agent-ACP')?.key).toBe('claude-code')
  expect(providerOfName('other')).toBeNull()
  expect(installedCommand(['npx', '-y', '@google/gemini-cli@1', '--acp'])).toEqual({
    binary: 'gemini',
    argv: ['gemini', '--acp'],
  })
  expect(installedCommand(['gemini'])).toBeNull()
})
