import { expect } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { verifies } from '../verifies.ts'
import { begin, finishes, script } from './acting.ts'

verifies(
  ['seed.agent.acp.subprocess', 'seed.agent.acp.acp_command.starts'],
  'a scripted agent says hello',
  async () => {
    await using server = await startTestServer()
    const acp = script(server.dir, { turns: [[{ think: 'hm' }, { say: 'hel' }, { say: 'lo' }]] })
    const said = await begin(server, acp, 'greet me')
    await said.is('finished', 'error')
    expect(finishes(await said.events())).toEqual(['hello'])
    expect(acp.prompts()).toEqual([['greet me']])
    expect(acp.starts()).toHaveLength(1)
  },
)
