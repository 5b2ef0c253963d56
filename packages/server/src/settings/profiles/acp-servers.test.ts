import { AgentSettings } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { ACP_SERVERS, acpServerOf, type KnownAcpServer } from './acp-servers.ts'
import { agentOfSettings } from './agent-of-settings.ts'

const NAMES = Object.keys(ACP_SERVERS) as KnownAcpServer[]

const commandOf = (acp_server: string, more: object = {}) => {
  const agent = agentOfSettings(AgentSettings.parse({ agent_kind: 'acp', acp_server, ...more }))
  return agent.kind === 'ACPAgent' ? agent.acp_command : null
}

describe.each(NAMES)('%s', (name) => {
  test('is started in a version that is named whole', () => {
    const { command } = ACP_SERVERS[name]
    expect(commandOf(name)).toEqual(command)
    const packages = command.filter((word) => word.startsWith('@'))
    expect(packages).toEqual([expect.stringMatching(/^@[\w-]+\/[\w-]+@\d+\.\d+\.\d+$/)])
  })

  test('gives way to a command of its own', () => {
    expect(commandOf(name, { acp_command: ['mine'] })).toEqual(['mine'])
  })
})

test('a custom one is not known', () => {
  expect(acpServerOf('custom')).toBeNull()
  expect(() => commandOf('custom')).toThrow('needs an acp_command')
})
