import { expect, test } from 'vitest'
import { AgentBase, StartConversationRequest } from '@parley/protocol'
import { fromAgentServer } from './from-agent-server.ts'

const agent = AgentBase.parse({ kind: 'Agent', llm: { model: 'a/b' } })
const start = (more: object) =>
  fromAgentServer(StartConversationRequest.parse({ workspace: { working_dir: '/srv/work' }, agent, ...more }), {
    agent,
    launched: null,
    worktree: null,
  })

test('the correlation members of a request are kept if there are any', () => {
  const said = {
    user_id: 'u-1',
    observability_metadata: { team: 'blue', sizes: [1, 2], isTrial: true },
    observability_tags: ['a'],
    observability_span_name: 'review',
  }
  expect(start(said).correlation).toEqual(said)
  expect(start({ user_id: 'u-1' }).correlation).toMatchObject({
    user_id: 'u-1',
    observability_span_name: 'conversation',
  })
  expect(start({})).not.toHaveProperty('correlation')
})
