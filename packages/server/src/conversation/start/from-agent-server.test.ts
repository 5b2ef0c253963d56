import { expect, test } from 'vitest'
import { StartConversationRequest } from '@parley/protocol'
import { fromAgentServer } from './from-agent-server.ts'

const body = (more: object) =>
  StartConversationRequest.parse({ workspace: { working_dir: '/srv/work' }, agent: { llm: { model: 'a/b' } }, ...more })

test('the correlation members of a request are kept if there are any', () => {
  const said = {
    user_id: 'u-1',
    observability_metadata: { team: 'blue', sizes: [1, 2], isTrial: true },
    observability_tags: ['a'],
    observability_span_name: 'review',
  }
  expect(fromAgentServer(body(said)).correlation).toEqual(said)
  expect(fromAgentServer(body({ user_id: 'u-1' })).correlation).toMatchObject({
    user_id: 'u-1',
    observability_span_name: 'conversation',
  })
  expect(fromAgentServer(body({}))).not.toHaveProperty('correlation')
})
