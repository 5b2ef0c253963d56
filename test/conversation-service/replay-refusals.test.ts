import { describe, expect, test } from 'vitest'
import { shareServer } from '../../packages/server/testing/shared-server.ts'
import type { Loose } from '../../packages/server/testing/replays.ts'

const shared = shareServer()

describe('refused recordings', () => {
  const go = { source: 'user', action: 'message', args: { content: 'go' } }
  const agentMessage = { source: 'agent', action: 'message', args: { content: 'hm' } }
  const own = {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: { role: 'user', content: [{ type: 'text', text: 'go' }] },
  }
  const at = (...path: (string | number)[]) => ['body', 'replay_json', ...path]

  test('a recording that cannot be replayed is refused with the request', async () => {
    const { server } = shared()
    const rows: [recording: unknown, detail: object][] = [
      ['{"a":', { type: 'json_invalid', loc: at(), msg: 'JSON decode error' }],
      ['[1,]', { type: 'json_invalid', loc: at() }],
      ['sk-secret', { type: 'json_invalid', loc: at(), input: {} }],
      [5, { type: 'string_type', loc: at() }],
      ['"text"', { type: 'list_type', loc: at() }],
      [{ other: [] }, { type: 'list_type', loc: at() }],
      [{ trajectory: 'x' }, { type: 'list_type', loc: at('trajectory') }],
      [[], { type: 'value_error', loc: at(), ctx: { error: {} } }],
      [[{ source: 'agent', action: 'system', args: {} }], { type: 'value_error', loc: at() }],
      [[agentMessage, go], { type: 'value_error', loc: at(0) }],
      [[{ kind: 'SystemPromptEvent' }, { ...own, source: 'agent' }], { type: 'value_error', loc: at(1) }],
      [[go, 'x'], { type: 'model_attributes_type', loc: at(1), input: 'x' }],
      [[go, {}], { type: 'value_error', loc: at(1) }],
      [[go, { action: 'fly', args: {} }], { type: 'enum', loc: at(1, 'action'), input: 'fly' }],
      [[go, { action: 7 }], { type: 'enum', loc: at(1, 'action') }],
      [[go, { observation: 'seen' }], { type: 'enum', loc: at(1, 'observation') }],
      [[go, { kind: 'FlyEvent' }], { type: 'value_error', loc: at(1, 'kind') }],
      [
        [go, { action: 'run', args: { thought: 'x' } }],
        { type: 'missing', loc: at(1, 'args', 'command'), input: { thought: 'x' } },
      ],
      [[go, { action: 'run' }], { type: 'missing', loc: at(1, 'args'), input: { action: 'run' } }],
      [[go, { action: 'run', args: { command: 3 } }], { type: 'string_type', loc: at(1, 'args', 'command'), input: 3 }],
      [[go, { source: 'bot', action: 'think', args: { thought: '' } }], { type: 'enum', loc: at(1, 'source') }],
      [[own, { kind: 'ActionEvent', id: 'a' }], { type: 'missing', loc: at(1, 'tool_call_id') }],
      [
        [own, { kind: 'MessageEvent', source: 'user', llm_message: { content: 'x' } }],
        { type: 'list_type', loc: at(1, 'llm_message', 'content') },
      ],
    ]
    for (const [recording, detail] of rows) {
      const replay_json = typeof recording === 'object' ? JSON.stringify(recording) : recording
      const { status, body } = await server.call('POST', '/api/conversations', { replay_json })
      expect(status, JSON.stringify(recording)).toBe(422)
      expect(body.detail, JSON.stringify(recording)).toContainEqual(expect.objectContaining(detail))
      expect(JSON.stringify(body)).not.toContain('sk-secret')
    }

    // All failures are reported with their places, up to a limit.
    const many = await server.call('POST', '/api/conversations', {
      replay_json: JSON.stringify(Array.from({ length: 99 }, () => 0)),
    })
    expect(many.body.detail.map(({ loc }: Loose) => loc[2])).toEqual(Array.from({ length: 20 }, (_, index) => index))
    expect((await server.call('GET', '/api/conversations/count')).body).toBe(0)
  })

  test.each<object>([
    { initial_user_msg: 'hi' },
    { image_urls: ['https://a.example/1.png'] },
    { suggested_task: { repo: 'a/b', issue_number: 1, title: 't' } },
  ])('a recording and %j contradict each other', async (members) => {
    const { server } = shared()
    const { status, body } = await server.call('POST', '/api/conversations', {
      replay_json: JSON.stringify([go]),
      ...members,
    })
    expect(status).toBe(422)
    expect(body.detail).toMatchObject([{ type: 'value_error', loc: ['body'], ctx: { error: {} } }])
  })

  test('an identical replay request finds the same conversation, and the same id with another recording is a conflict', async () => {
    const { server } = shared()
    const body = { conversation_id: crypto.randomUUID(), replay_json: JSON.stringify([go, agentMessage]) }
    for (const _ of [1, 2]) expect((await server.call('POST', '/api/conversations', body)).status).toBe(200)
    const other = { ...body, replay_json: JSON.stringify([go]) }
    expect((await server.call('POST', '/api/conversations', other)).status).toBe(409)
    expect((await server.call('GET', '/api/conversations/count')).body).toBe(1)
  })
})
