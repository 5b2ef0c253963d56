import { expect } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { verifies } from '../verifies.ts'
import { startAcpConversation, finishes, writeScript } from '../../packages/server/testing/acp-conversations.ts'

verifies(
  ['seed.agent.acp.subprocess', 'seed.agent.acp.acp_command.starts'],
  'a conversation with a scripted ACP agent ends with its answer',
  async () => {
    await using server = await startTestServer()
    const acp = writeScript(server.dir, { turns: [[{ think: 'hm' }, { say: 'hel' }, { say: 'lo' }]] })
    const conversation = await startAcpConversation(server, acp, 'greet me')
    await conversation.is('finished', 'error')
    expect(finishes(await conversation.events())).toEqual(['hello'])
    expect(acp.prompts()).toEqual([['greet me']])
    expect(acp.starts()).toHaveLength(1)
  },
)
